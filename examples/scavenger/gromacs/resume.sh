#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs one GROMACS simulation on spare capacity: goes on from its checkpoint, ends in good order when it is asked to, and says
# which of the two ends it was.
#   resume.sh NAME [mdrun options...]     in the folder with NAME.tpr; NAME.cpt is its checkpoint
# mdrun takes SIGTERM for "stop at the next step of neighbour searching, and write a checkpoint", and ends with 0 then as well
# as at its real end. Whoever starts it again has to know which it was, hence exit code 85.
set -u
name=$1
shift

# Minutes between checkpoints: what is advised or declared, in Go's words (6m19s), and never 0, which mdrun takes for "always".
minutes() {
  awk -v text="${SJ_CHECKPOINT_INTERVAL:-5m}" 'BEGIN {
    while (match(text, /^[0-9.]+(h|ms|m|s)/)) {
      part = substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 1)
      unit = part; gsub(/[0-9.]/, "", unit)
      total += part * (unit == "h" ? 60 : unit == "m" ? 1 : unit == "s" ? 1 / 60 : 1 / 60000)
    }
    if (text != "" || total <= 0) total = 5
    printf "%.2f", total < 0.1 ? 0.1 : total
  }'
}

report() {  # only where somebody wants to know, and never a reason to fail
  [ -n "${SJ_CHECKPOINT_URL:-}" ] && command -v curl > /dev/null || return 0
  local account=/var/run/secrets/kubernetes.io/serviceaccount
  curl --silent --show-error --max-time 2 --cacert "${SJ_CHECKPOINT_CA:-$account/ca.crt}" -X POST \
    -H "Authorization: Bearer $(cat "$account/token" 2> /dev/null)" -H "Content-Type: application/json" \
    -d "{\"time\":\"$(date -u -r "$name.cpt" +%Y-%m-%dT%H:%M:%SZ)\"}" "$SJ_CHECKPOINT_URL" > /dev/null || true
}

requested() {
  [ -n "${SJ_ANNOTATIONS:-}" ] && grep -q '^berth.dev/checkpoint-requested=' "$SJ_ANNOTATIONS" 2> /dev/null
}
written() { stat -c %Y "$name.cpt" 2> /dev/null || echo 0; }

# As many threads as the container may use: mdrun by itself would take the node's.
threads() {
  local quota period
  read -r quota period < "${CGROUP:-/sys/fs/cgroup}/cpu.max" 2> /dev/null || quota=max
  if [ "$quota" = max ]; then nproc; else echo $(((quota + period - 1) / period)); fi
}
case " $* " in
  *" -ntomp "* | *" -nt "*) ;;
  *) set -- "$@" -ntomp "$(threads)" ;;
esac

from=()
if [ -f "$name.cpt" ]; then
  from=(-cpi "$name.cpt")
  echo "resuming from $name.cpt"
fi
asked= child=
trap 'asked=signal; [ -n "$child" ] && kill -TERM "$child" 2> /dev/null' TERM INT
gmx mdrun -deffnm "$name" "${from[@]}" -cpo "$name.cpt" -cpt "$(minutes)" "$@" &
child=$!
[ -n "$asked" ] && kill -TERM "$child" 2> /dev/null  # it came before there was a child

last=$(written)
while kill -0 "$child" 2> /dev/null; do
  sleep "${RESUME_LOOKS_EVERY:-2}" & wait $!  # so that a signal is not kept waiting
  if [ -z "$asked" ] && requested; then
    asked=annotation
    kill -TERM "$child" 2> /dev/null
  fi
  now=$(written)
  if [ "$now" != "$last" ]; then
    last=$now
    report
  fi
done
wait "$child"
code=$?

if [ -n "$asked" ] && [ "$code" -le 1 ] && [ -f "$name.cpt" ]; then
  report
  echo "checkpoint in $name.cpt, asked for by $asked"
  exit 85
fi
if [ "$code" -eq 0 ]; then
  echo done > "${TERMINATION_LOG:-/dev/termination-log}" 2> /dev/null || true
fi
exit "$code"
