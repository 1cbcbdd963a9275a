"""Keeps two indexes equal to a vault. `opening` is the way in; nothing is imported here, so that asking who owns an index stays cheap.

    <directory>/manifest.sqlite   what is indexed, with text and vectors: the truth
    <directory>/words/            Whoosh, made anew from the manifest when in doubt
    <directory>/vectors/          Chroma, likewise
    <directory>/owner.lock        held by the one process that may write, or open Chroma
"""
