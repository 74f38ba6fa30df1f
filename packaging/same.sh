#!/usr/bin/env bash
# Compares static programs with the program PROGRAM: `packaging/same.sh PROGRAM ROOT...`. Each root folder contains
# bin/lanemark and nothing else that runs. All programs must print the same bytes. Root only, because of chroot.
set -euo pipefail

program=$1
shift
while read -r command; do
    # shellcheck disable=SC2086 # a command is several words
    expected=$(env -i "$program" $command 2>&1 </dev/null) ||
        { echo "$program $command fails: $expected" >&2; exit 1; }
    for root in "$@"; do
        run=/bin/lanemark
        if [ "$(od -An -tx1 -j18 -N1 "$root/bin/lanemark")" = " b7" ]; then
            emulator=$(command -v qemu-aarch64-static) ||
                { echo "missing: qemu-aarch64-static (apt-get install qemu-user-static)" >&2; exit 1; }
            cp "$emulator" "$root/bin/emulator"
            run="/bin/emulator /bin/lanemark"
        fi
        mkdir -p "$root/tmp"
        # shellcheck disable=SC2086
        printed=$(env -i "$(command -v chroot)" "$root" $run $command 2>&1 </dev/null)
        [ "$printed" = "$expected" ] ||
            { echo "$root: \`lanemark $command\` prints other lines than $program:" >&2
              diff <(echo "$expected") <(echo "$printed") >&2 || true; exit 1; }
    done
    echo "equal: lanemark $command"
done <<'END'
--version
sim samsung-980-pro-1tb@workstation-x570:m2 crystaldiskmark-8 --no-save
sim samsung-850-pro-1tb@workstation-z170:sata quick --no-save --detail
sim samsung-860-qvo-1tb@workstation-z170:sata quick --no-save --no-interval
compare samsung-950-pro-512gb@workstation-z170:m2 :pcie-slot --workload quick
library
END
