"""`onebrain completion`: a script for the shell, and the words it asks for.

The scripts ask `onebrain completion words -- ...` at every Tab, so the grammar is told by the grammar itself and a script never grows old.
It runs here, never in the daemon, and imports what `--help` would. Where we know no word, shells go on to complete file names.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from onebrain.cli.base import App, session

SCRIPTS = {
    "bash": """_onebrain() {
    local IFS=$'\\n'
    COMPREPLY=($(onebrain completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _onebrain onebrain
""",
    "zsh": """#compdef onebrain
_onebrain() {
    local -a found
    found=("${(@f)$(onebrain completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _onebrain onebrain
""",
    "fish": """function __onebrain_words
    onebrain completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c onebrain -a '(__onebrain_words)'
""",
}

EVERYWHERE = ("--vault", "--help")

app = App(
    "Print a script that teaches your shell to complete onebrain's words.\n\n"
    'bash: add  eval "$(onebrain completion bash)"  to ~/.bashrc.  '
    'zsh: add  eval "$(onebrain completion zsh)"  to ~/.zshrc, after compinit.  '
    "fish: onebrain completion fish > ~/.config/fish/completions/onebrain.fish"
)


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def _printer(shell: Shell) -> Any:
    def show(ctx: typer.Context) -> None:
        session(ctx).give(lambda: {"shell": shell.value, "script": SCRIPTS[shell]}, lambda: SCRIPTS[shell])

    return show


for _shell in Shell:
    app.command(_shell.value, help=f"The script for {_shell.value}.")(_printer(_shell))


@app.command("words", help="What may stand where the last of WORDS stands.", hidden=True)
def words_command(ctx: typer.Context, words: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    found = candidates(ctx.find_root(), words or [""])
    session(ctx).give(lambda: {"words": found}, lambda: "".join(f"{word}\n" for word in found))


def candidates(root: Any, words: Sequence[str]) -> list[str]:
    """The words of the grammar that begin with the last of `words` and may stand there; empty where anything may."""
    *before, begun = words
    if "--" in before:
        return []
    context, free = _reached(root, before)
    options = _options(context)
    last = options.get(before[-1]) if before else None
    if last is not None and not last.is_flag:
        offered = [item.value for item in last.shell_complete(context, begun) if item.type == "plain"]
    elif before and before[-1] == "--vault":
        offered = []
    elif begun.startswith("-"):
        offered = [*(max(param.opts, key=len) for param in dict.fromkeys(options.values())), *EVERYWHERE]
    elif free and isinstance(context.command, TyperGroup):
        offered = [name for name in context.command.list_commands(context) if not _hidden(context, name)]
    else:
        offered = []
    return sorted({word for word in offered if word.startswith(begun)})


def _reached(root: Any, words: Sequence[str]) -> tuple[Any, bool]:
    """The context of the command that `words` lead to, and whether no word of its own stands behind it."""
    context, free, skip = root, True, False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            option = _options(context).get(word)
            skip = word == "--vault" or (option is not None and not option.is_flag)
        else:
            found = context.command.get_command(context, word) if free and isinstance(context.command, TyperGroup) else None
            free = found is not None
            if found is not None:
                context = type(context)(found, parent=context, info_name=word)
    return context, free


def _options(context: Any) -> dict[str, Any]:
    """Spelling → option; those of a question where the command is `search` itself."""
    command: Any = context.command
    asked: Any = command.commands.get("ask") if isinstance(command, TyperGroup) and "ask" in command.commands else command
    return {name: param for param in asked.get_params(context) if param.param_type_name == "option" for name in param.opts}


def _hidden(context: Any, name: str) -> bool:
    if context.parent is None:  # the groups themselves: looking would import them all
        return False
    return bool(context.command.get_command(context, name).hidden)
