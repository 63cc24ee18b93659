"""A device that answers as `xnn_executor_runner --serve` does, runs nothing, and goes wrong as it is told.

usage: fake_device.py LOG [TROUBLE] [AFTER]

Every connection appends the name of each request to LOG. From the run on whose number in LOG is AFTER (0), the trouble
is there: `hang`, `die`, `nonsense`, `slow`, `jump`, `hot`; from the start: `full`, `version`, `chatty`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[1])
TROUBLE = sys.argv[2] if len(sys.argv) > 2 and not sys.argv[2].startswith("-") else ""
AFTER = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3].isdecimal() else 0
SIZES: dict[str, int] = {}
PROGRAMS: list[int] = []


def has_come() -> bool:
    return LOG.read_text(encoding="ascii").split().count("run") >= AFTER


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["request"]:
        case "hello":
            version = 2 if TROUBLE == "version" else 1
            facts = {"xir": "0", "machine": "aarch64", "system": "Linux", "xnnpack": "fa4ede71ce00ffff"}
            cores = [{"core": 0, "capacity": 300}, {"core": 1, "capacity": 1024}]
            return {"protocol": version, **facts, "cores": cores}
        case "core":
            caches = [{"level": 2, "type": "Unified", "size": "256K"}, {"level": 3, "type": "Unified", "size": "1024K"}]
            return {"cpuinfo": "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b", "caches": caches}
        case "put":
            if TROUBLE == "full":
                return {"error": "there is no room for so many bytes", "code": "resource limit"}
            SIZES[request["name"]] = request["size"]
            return {"received": min(request["at"] + len(request["data"]) * 3 // 4, request["size"])}
        case "load":
            PROGRAMS.append(SIZES[request["name"]])
            return {"program": len(PROGRAMS), "inputs": [0], "outputs": 1, "delegates": 1, "nanoseconds": 1000}
        case "run":
            seconds = 1e6 if TROUBLE == "slow" and has_come() else 1
            taken = PROGRAMS[request["program"] - 1] * 10 * seconds
            return {"runs": 1, "shortest": taken, "median": taken, "times": [taken]}
        case "reference":
            if TROUBLE == "hot" and has_come():
                return {"nanoseconds": 1000, "hot": "cpu-0-0 at 96.0 of 95.0 °C"}
            return {"nanoseconds": 1700 if TROUBLE == "jump" and has_come() else 1000}
        case _:
            return {}


def main() -> None:
    if TROUBLE == "chatty":
        print("Welcome!\n\n*** nothing works today ***", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        with LOG.open("a", encoding="ascii") as log:
            log.write(request["request"] + "\n")
        if request["request"] == "run" and TROUBLE in ("hang", "die", "nonsense") and has_come():
            if TROUBLE == "hang":
                time.sleep(60)
            if TROUBLE == "die":
                print("Segmentation fault", file=sys.stderr)
                sys.exit(139)
            print("Traceback: \x1b[31mno\x1b[0m", flush=True)
            continue
        print(json.dumps({"id": request["id"], **answer(request)}), flush=True)


if __name__ == "__main__":
    main()
