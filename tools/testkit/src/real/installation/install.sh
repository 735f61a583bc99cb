# Installs Debian's packages, and lets none of them start a server of its own.
#
# Arguments: the packages.
# Standard output: that of apt-get.
# Exit code: 3 if this user or this system cannot install packages.

apt=/usr/bin/apt-get
[ "$(id -u)" = 0 ] && [ -x "$apt" ] || exit 3

# apt waits for dpkg's lock, but not for those of its package lists and downloads. Only root writes to this directory.
exec 9>/run/zklock-testkit.lock || exit
flock 9 || exit
# Another process may have installed them meanwhile.
dpkg-query --show "$@" >/dev/null 2>&1 && exit
echo "zklock-testkit: installing $* with apt-get, to run tests" >&2

# A link to /dev/null in the place of a unit starts nothing. Settings that exist are kept.
mask() {
    mkdir -p /etc/systemd/system
    for unit; do
        [ -e "/etc/systemd/system/$unit" ] || ln -s /dev/null "/etc/systemd/system/$unit" || exit
    done
}

for package; do
    case $package in
    postgresql)
        settings=/etc/postgresql-common/createcluster.conf
        mkdir -p "${settings%/*}"
        [ -e "$settings" ] || echo "create_main_cluster = false" >"$settings" || exit
        ;;
    prometheus) mask prometheus.service ;;
    krb5-kdc) mask krb5-kdc.service krb5-admin-server.service ;;
    esac
done

export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
run() {
    "$apt" -q -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold "$@" 2>&1 9>&-
}
# Old package lists may suffice, so only the installation itself must succeed.
run update
run install -y --no-install-recommends "$@"
