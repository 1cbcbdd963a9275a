#!/bin/sh
# Arguments come in SKILL_ARGS; one line of JSON goes to stdout; the exit code is the one inside it.
exec onebrain memory search
