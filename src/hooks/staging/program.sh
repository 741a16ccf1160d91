program=@PROGRAM@
if [ ! -x "$program" ]; then
    program=$(command -v ralph-copilot) || program=
fi
