#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 200
# --on-dump runs a command after each dump: without privileges, one at a time, for a limited time, and never in the recorder's way.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "a command after a dump" "a recorder without root has no privileges to drop"

# A place that the command can write to; the dumps are not.
chmod 711 "$work"
open=$work/open
mkdir -m 777 "$open"

# lines N FILE: true when the file has N lines
lines() {
	[ "$(wc -l <"$2")" -ge "$1" ]
}

cat >"$open/look" <<END
#!/bin/bash
{
	echo "id \$(id -u) \$(id -g) \$(id -G)"
	sed -n 's/^\(CapPrm\|CapEff\|CapAmb\|NoNewPrivs\):\s*/\1 /p' /proc/self/status
	echo "trigger \$RINGBACK_TRIGGER"
	echo "reason \$RINGBACK_REASON"
	echo "dump \$RINGBACK_DUMP"
	echo "magic \$(head -c 2 <&0 | wc -c)"
	cat "\$RINGBACK_DUMP" >/dev/null 2>&1 && echo "path readable"
	echo "policy \$(chrt -p \$\$ | sed -n 's/.*policy: //p')"
	echo "terminal \$(cut -d' ' -f7 /proc/self/stat)"
	echo "score \$(cat /proc/self/oom_score_adj)"
	env | cut -d= -f1 | sort | tr '\n' ' '
	echo
	echo end
} >"$open/seen" 2>&1
END
chmod 755 "$open/look"
rec_start -p $$ -e dummy -m 16K --symbols off --on-dump "readlink /proc/\$\$/fd/* >$open/fds; exec $open/look"
path=$(dump_now --reason "it's \$(slow)")
check "the command is run" wait_for 10 grep -qx end "$open/seen"
nobody=$(id -u nobody) group=$(id -g nobody)
equal "as nobody, without further groups" "id $nobody $group $group" "$(grep ^id "$open/seen")"
equal "without capabilities, and no way to gain some" "CapPrm 0000000000000000 CapEff 0000000000000000 NoNewPrivs 1 CapAmb 0000000000000000" \
	"$(grep -E '^(Cap|No)' "$open/seen" | sort -k1,1r | awk '{ l[$1] = $0 } END { print l["CapPrm"], l["CapEff"], l["NoNewPrivs"], l["CapAmb"] }')"
equal "it knows the rule, the reason and the path" "trigger manual|reason it's \$(slow)|dump $path" "$(grep -E '^(trigger|reason|dump)' "$open/seen" | paste -sd'|')"
equal "it can read the dump, only by its standard input" "magic 2" "$(grep -E '^(magic|path readable)' "$open/seen")"
equal "at idle priority" "policy SCHED_IDLE" "$(grep ^policy "$open/seen")"
equal "it inherits no descriptor" "$path $open/fds /dev/null" "$(paste -sd' ' "$open/fds")"
equal "and no terminal" "terminal 0" "$(grep ^terminal "$open/seen")"
equal "nor anything of the environment" "PATH PWD RINGBACK_DUMP RINGBACK_REASON RINGBACK_TRIGGER SHLVL _ " "$(grep ^PATH "$open/seen")"
equal "the OOM killer prefers it" "score 500" "$(grep ^score "$open/seen")"
rec_stop
equal "success is not worth a line" 0 "$(grep -c on-dump "$work/err")"

rec_start -p $$ -e dummy -m 16K --symbols off --on-dump-user daemon \
	--on-dump "echo \"\$(id -un) \$RINGBACK_REASON\" >>$open/order; while [ ! -e $open/go ]; do sleep 0.1; done; exit 7"
for i in 1 2 3 4 5 6 7 8 9 10 11; do dump_now --reason "n$i" >/dev/null; done
equal "dumps are made while the command runs, and one command runs at a time" "11 1" "$(find "$work/dumps" -name '*.rbd' | wc -l | awk '{ print $1 - 1 }') $(wc -l <"$open/order")"
equal "eight wait, the others are refused and said once" 1 "$(grep -c '8 dumps wait for the command' "$work/err")"
touch "$open/go"
check "then they are run in order" wait_for 20 lines 8 "$open/order"
equal "as the user that was named" "$(printf 'daemon n%s\n' 1 2 3 4 5 6 7 8)" "$(cat "$open/order")"
check "a failure is logged with its status" wait_for 10 eval '[ "$(grep -c "on-dump: the command for .* exited with status 7" "$work/err")" = 8 ]'
rec_stop

rec_start -p $$ -e dummy -m 16K --symbols off --on-dump "sleep 1000 & echo \$! >$open/pid; sleep 1000"
dump_now >/dev/null
check "a command that never ends" wait_for 10 test -s "$open/pid"
begin=$SECONDS
rec_stop
check "is given 10 s when the recorder ends" test $((SECONDS - begin)) -ge 9 -a $((SECONDS - begin)) -le 60
equal "the recorder ends well" 0 "$rec_status"
check "what it started ends, too" wait_for 5 eval '! kill -0 "$(cat "$open/pid")"'
check "and this is said" grep -q "on-dump: the command for .* is killed, since the recorder ends" "$work/err"

rec_start -p $$ -e dummy -m 16K --symbols off --on-dump "sleep 1000 & echo \$! >$open/pid2; sleep 1000"
dump_now >/dev/null
check "a command that takes too long is killed" wait_for 90 grep -q "on-dump: the command for .* was killed after 60 s" "$work/err"
check "with what it started" wait_for 5 eval '! kill -0 "$(cat "$open/pid2")"'
rec_stop

for user in root no-such-user; do
	"$RINGBACK" record --config /dev/null -p $$ -e dummy --dry-run --on-dump true --on-dump-user $user >"$work/o" 2>"$work/e"
	equal "$user is refused" "2 1" "$? $(grep -c 'hint: --on-dump-user USER' "$work/e")"
done
tap_end
