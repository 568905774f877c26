#!/bin/sh
# A worker in plain shell: it greets people. It needs sh, curl, base64 and python3.
#
#   HEADWAY_URL=http://127.0.0.1:4929 HEADWAY_TOKEN=hw_… examples/worker.sh
#
# It takes jobs of the type "greet", with params {"name": "Ada"}. The greeting is a step: a retry of
# the job does not make it again. Stop it with Ctrl-C.
set -eu

: "${HEADWAY_URL:?the address of the server}" "${HEADWAY_TOKEN:?a token with the role work}"

post() { # PATH BODY [SECONDS]
    curl --silent --show-error --fail-with-body --max-time "${3:-30}" \
        --header "Authorization: Bearer $HEADWAY_TOKEN" --data "$2" "$HEADWAY_URL$1"
}

text_at() { # STEP …: the text at this place in the JSON on standard input; nothing if there is none
    python3 -c '
import json, sys
found = json.load(sys.stdin.buffer)
for step in sys.argv[1:]:
    found = found[int(step)] if isinstance(found, list) else found.get(step, "")
sys.stdout.buffer.write(found.encode() if isinstance(found, str) else b"")' "$@"
}

quoted() { # TEXT: as JSON, whatever is in it
    printf '%s' "$1" | python3 -c 'import json, sys; print(json.dumps(sys.stdin.buffer.read().decode()))'
}

worker="$(quoted "shell-$(hostname)-$$")"

claim() { # waits up to 20 s for a job; prints nothing if there is none
    # We hold nothing here, so a job whose answer was lost on its way is given to us again.
    post /api/claims "{\"worker_id\": $worker, \"job_types\": [\"greet\"], \"lease\": true, \"wait_s\": 20, \"holds\": []}"
}

keep_alive() { # LEASE: a heartbeat every 10 s; the lease lasts 30 s
    while sleep 10; do
        # Cut off, or the lease is lost: stop before another worker starts the same job.
        post "/api/leases/$1/heartbeat" "{\"worker_id\": $worker}" 15 || kill "$$"
    done
}

say() { # LEASE TEXT: what people see in `headway jobs tail`
    post "/api/leases/$1/logs" "{\"worker_id\": $worker, \"data\": \"$(printf '%s\n' "$2" | base64 | tr -d '\n')\"}"
}

stored() { # STEP: its result, if an earlier run of the claimed job on standard input has recorded it
    python3 -c '
import json, sys
(job,) = json.load(sys.stdin.buffer)["jobs"]
for one in job["steps"] or []:
    if (one["kind"], one["name"]) == ("step", sys.argv[1]):
        sys.stdout.buffer.write(one["result"].encode())' "$1"
}

record() { # LEASE STEP RESULT: from here on it is done; refused if the lease is lost
    post "/api/leases/$1/steps" \
        "{\"worker_id\": $worker, \"name\": $(quoted "$2"), \"index\": 0, \"result\": $(quoted "$3")}"
}

greet() { # NAME: the work itself
    [ -n "$1" ] && printf 'Hello, %s!' "$1"
}

while true; do
    if ! job="$(claim)"; then
        sleep 5 # the server is down, or refuses us
        continue
    fi
    [ -n "$job" ] || continue
    lease="$(printf '%s' "$job" | text_at jobs 0 lease lease_id)"
    keep_alive "$lease" >/dev/null &
    heart=$!
    name="$(printf '%s' "$job" | text_at jobs 0 job params name)"
    text="$(printf '%s' "$job" | stored greeting)"
    if [ -n "$text" ] || { text="$(greet "$name")" && record "$lease" greeting "$text" >/dev/null; }; then
        say "$lease" "$text" >/dev/null || true
        report="\"status\": \"COMPLETED\", \"result\": $(quoted "$text")"
    else
        report="\"status\": \"FAILED\", \"error\": \"nobody to greet\""
    fi
    kill "$heart" 2>/dev/null || true
    post "/api/leases/$lease/release" "{\"worker_id\": $worker, $report}" || true
    echo " $lease"
done
