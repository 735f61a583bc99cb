# Runs one server for an owner, and outlives neither.
#
# Arguments: the directory of the server, then its command line.
# Standard input: one order per line, each answered by one line on standard output.
# Its end means that the owner has gone, so no order is needed for that.

# A signal for the owner's sake must not take the guard away, and an owner that
# died while it waited for an answer must not either (PIPE).
trap '' HUP INT QUIT TERM PIPE

directory=$1
server=
shift

# Until it is waited for, a dead server keeps its process id, so that no signal
# can reach a stranger.
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
