# Runs one server for an owner, and kills it when the owner ends.
#
# Arguments: the directory of the server, then its command line.
# Standard input: one order per line, each answered by one line on standard output.
# The end of standard input means that the owner has gone.

# The shell must survive a signal that is meant for the owner, and the death of
# an owner that waits for an answer (PIPE).
trap '' HUP INT QUIT TERM PIPE

directory=$1
server=
shift

# Until it is waited for, a dead server keeps its process id, so no signal can
# reach another process.
end() {
    if [ -n "$server" ]; then
        kill -s KILL "$server"
        wait "$server"
        server=
    fi
}

while read -r order signal; do
    case $order in
    start)
        (
            trap - HUP INT QUIT TERM PIPE
            exec "$@"
        ) </dev/null >"$directory/server.log" 2>&1 &
        server=$!
        echo "$server"
        ;;
    signal)
        kill -s "$signal" "$server"
        echo "$?"
        ;;
    end)
        end
        echo "$?"
        ;;
    esac
done

end
case $directory in
/*/zklock-testkit-??????) rm -rf -- "$directory" ;;
esac
