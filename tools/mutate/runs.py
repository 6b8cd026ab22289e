# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a mutated build: once to see which changes each test evaluates, then for each
change those tests, the quickest first, until one fails."""

import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time

Test = collections.namedtuple("Test", "name command folder environment fails_by pattern seconds reached")


def listed(build):
    """The tests of ./run check but for the project's checks, which do not run the code."""
    command = ["ctest", "--test-dir", str(build), "--show-only=json-v1"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    for test in found["tests"]:
        facts = {entry["name"]: entry["value"] for entry in test["properties"]}
        if {"slow", "project"} & set(facts.get("LABELS", [])) or "command" not in test:
            continue
        environment = dict(pair.split("=", 1) for pair in facts.get("ENVIRONMENT", []))
        yield Test(
            test["name"],
            test["command"],
            facts.get("WORKING_DIRECTORY", str(build)),
            environment,
            facts.get("WILL_FAIL", False),
            facts.get("PASS_REGULAR_EXPRESSION", []),
            0.0,
            frozenset(),
        )


# A change may fill memory without end: tests that need more than this many bytes fail. The program
# obeys a limit of its address space, so that this one is of its data. Interrupts are as usual, which a
# shell may have switched off for what it runs in the background.
LIMITS = ["env", "--default-signal=INT,QUIT", "prlimit", f"--data={8 << 30}"]


def passes(test, extra, limit):
    """Whether the test passes within `limit` seconds; whatever it started ends with it."""
    environment = {**os.environ, **test.environment, **extra}
    process = subprocess.Popen(
        LIMITS + test.command,
        cwd=test.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=limit)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False
    if test.pattern:
        return any(re.search(pattern, output) for pattern in test.pattern)
    return (process.returncode == 0) != test.fails_by


def record(test, folder, count):
    """The test with its seconds and the changes that it evaluates, or None if it fails as it is."""
    file = folder / f"{test.name}.reached"
    file.write_bytes(bytes(count + 1))
    start = time.monotonic()
    good = passes(test, {"NG_MUTATION_REACHED": str(file)}, 1200)
    seconds = time.monotonic() - start
    reached = frozenset(i for i, byte in enumerate(file.read_bytes()) if byte)
    file.unlink()
    return test._replace(seconds=seconds, reached=reached) if good else None


def record_all(build, count, jobs, say):
    folder = build / "mutation"
    folder.mkdir(exist_ok=True)
    tests, recorded = list(listed(build)), []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pending = {pool.submit(record, test, folder, count): test for test in tests}
        for future in concurrent.futures.as_completed(pending):
            if future.result():
                recorded.append(future.result())
            else:
                say(f"{pending[future].name} fails as the code is; it is left out")
    return recorded


def found_by(number, tests):
    """The name of the first of the tests that fails under a change, or None."""
    for test in tests:
        if not passes(test, {"NG_MUTATION": str(number)}, 20 + 5 * test.seconds):
            return test.name
    return None


# Tests that take fewer seconds run for all changes first, which finds most of them.
QUICK = 5.0


def try_all(changes, tests, jobs, say):
    """{number: (test or None, how many tests evaluate it)} of all changes."""
    results = {}
    readers = {
        number: sorted((t for t in tests if number in t.reached), key=lambda t: t.seconds)
        for number in changes
    }

    def tell(number, test):
        results[number] = test, len(readers[number])
        site = changes[number]
        verdict = f"found by {test}" if test else f"SURVIVES {len(readers[number])} tests"
        say(f"{len(results)}/{len(changes)} {site.path}:{site.number}: {site.change}: {verdict}")

    for quick in (True, False):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            pending = {}
            for number in changes:
                if number not in results:
                    chosen = [t for t in readers[number] if (t.seconds < QUICK) == quick]
                    pending[pool.submit(found_by, number, chosen)] = number
            for future in concurrent.futures.as_completed(pending):
                if future.result() or not quick:
                    tell(pending[future], future.result())
        left = [changes[number] for number in changes if number not in results]
        for site in left if quick else []:
            say(f"passes the quick tests: {site.path}:{site.number}: {site.change}: {site.line}")
    return results
