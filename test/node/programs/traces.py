"""Looks for a text in the environment, arguments and memory of all processes, and in all files.

Arguments: the text in two halves, so that this process does not find itself. Prints the places, and how much was read.
"""

import json
import os
import sys

needle = (sys.argv[1] + sys.argv[2]).encode()
found, read = [], {"processes": 0, "bytes": 0, "files": 0}


def look(place, data):
    read["bytes"] += len(data)
    if needle in data:
        found.append(place)


def content(path):
    with open(path, "rb") as file:
        return file.read()


for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid():
        continue
    for name in ("environ", "cmdline"):
        look(f"{name} of {pid}", content(f"/proc/{pid}/{name}"))
    read["processes"] += 1
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, access = line.split()[:2]
            start, end = (int(text, 16) for text in place.split("-"))
            if "r" not in access or end >= 2**63:
                continue
            while start < end:
                size = min(end - start, 16 * 1024 * 1024)
                try:
                    memory.seek(start)
                    look(f"memory of {pid}", memory.read(size))
                except OSError:
                    pass
                start += size
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
    for name in files:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path):
            read["files"] += 1
            look(path, content(path))
print(json.dumps({"found": sorted(set(found)), **read}))
