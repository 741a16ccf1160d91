"""Builds the test programs and runs every test in a process of its own, several at a time.

Each test gets an empty HOME and an empty TMPDIR, and fails if it leaves anything in them.
`tests/run` calls this. Options go to `cargo test`; other words select the tests whose names
contain one of them, as in: tests/run --test cli race
"""

import json
import os
import queue
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# Seconds before a test counts as hung and is killed. Whole corpora take longer than samples.
LIMIT = 3600 if os.environ.get("RALPH_TEST_FULL") else 600
GUARDIAN = 10  # Seconds in which the guardian of a killed run removes its folder.
SLOWEST = 10
# Programs whose tests take longest start first, so that none of them is left for the end.
FIRST = ["soak", "honest", "ordinary", "real_copilot", "durable", "crash", "human_edits", "guard_mutations"]
# Options of `cargo test` whose value is the next word.
VALUED = {"--test", "--bin", "--example", "--bench", "-p", "--package", "-j", "--jobs", "-F", "--features"}
VALUED |= {"--config", "--profile", "--target", "--target-dir"}


def split(arguments):
    """Splits the arguments into options of `cargo test` and names of tests."""
    if "--" in arguments:
        at = arguments.index("--")
        return arguments[:at], arguments[at + 1 :]
    options, names = [], []
    for before, word in zip(["", *arguments], arguments):
        (options if word.startswith("-") or before in VALUED else names).append(word)
    return options, names


def build(options):
    """Builds the tests; returns the name and path of each test program."""
    command = ["cargo", "test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    built = subprocess.run(command + options, stdout=subprocess.PIPE)
    if built.returncode:
        sys.exit(built.returncode)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith(b"{")]
    return [
        (message["target"]["name"], message["executable"])
        for message in messages
        if message.get("executable") and message["profile"]["test"]
    ]


def tests_of(program, names):
    """Lists the tests of a program whose name contains one of `names`, or all of them."""
    listed = subprocess.run([program, "--list", "--format=terse"], stdout=subprocess.PIPE, text=True)
    if listed.returncode:
        sys.exit(f"tests/run: {program} --list failed")
    tests = [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]
    return [test for test in tests if not names or any(name in test for name in names)]


class Runner:
    def __init__(self, tests, folder, environment):
        self.folder = folder
        self.environment = environment
        self.waiting = queue.SimpleQueue()
        for number, test in enumerate(tests):
            self.waiting.put((number, *test))
        self.screen = threading.Lock()
        self.results = []  # (seconds, seconds of processor, passed, program, test)
        self.groups = set()

    def stop(self):
        """Starts no more tests and kills those that run."""
        while not self.waiting.empty():
            self.waiting.get_nowait()
        for group in list(self.groups):
            os.killpg(group, signal.SIGKILL)

    def work(self):
        """Runs tests until none is waiting."""
        while True:
            try:
                number, name, program, test = self.waiting.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            output, processor = self.run(number, program, test)
            self.report(time.monotonic() - began, processor, name, test, output)

    def left(self, *folders):
        """What a test left behind. The guardian of a run that was killed removes its folder soon."""
        deadline = time.monotonic() + GUARDIAN
        while True:
            left = [os.path.join(folder, it) for folder in folders for it in os.listdir(folder)]
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.1)

    def run(self, number, program, test):
        """Runs one test; returns its output if it failed, and what it used of the processor."""
        home, tmp = (os.path.join(self.folder, f"{number}{kind}") for kind in "ht")
        os.mkdir(home)
        os.mkdir(tmp)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            process = subprocess.Popen(
                [program, "--exact", test],
                env={**self.environment, "HOME": home, "TMPDIR": tmp},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.groups.add(process.pid)
            limit = threading.Timer(LIMIT, os.killpg, [process.pid, signal.SIGKILL])
            limit.start()
            # Includes the children that the test has waited for.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            limit.cancel()
            self.groups.discard(process.pid)
            file.seek(0)
            output = file.read().decode(errors="replace")
        left = self.left(home, tmp)
        for where in (home, tmp):
            shutil.rmtree(where, ignore_errors=True)
        processor = usage.ru_utime + usage.ru_stime
        if left:
            return f"{output}\nleft behind: {', '.join(left)}", processor
        if process.returncode == 0 and "test result: ok. 1 passed" in output:
            return None, processor
        return f"{output}\nexit status {process.returncode} (-9: killed after {LIMIT} s)", processor

    def report(self, seconds, processor, program, test, output):
        with self.screen:
            self.results.append((seconds, processor, output is None, program, test))
            verdict = "FAIL" if output else "ok  "
            print(f"{verdict} {seconds:8.3f}s {processor:8.3f}s  {program} {test}", flush=True)
            if output:
                print(output, flush=True)


def environment():
    """The environment of the tests, with the caches of cargo and rustup named explicitly."""
    home = os.path.expanduser("~")
    return {
        "CARGO_HOME": os.path.join(home, ".cargo"),
        "RUSTUP_HOME": os.path.join(home, ".rustup"),
        # Otherwise every snapshot test asks cargo for it.
        "INSTA_WORKSPACE_ROOT": os.getcwd(),
        "RALPH_TEST_SEED": str(random.getrandbits(32)),
        **os.environ,
    }


def main(arguments):
    # After `nohup` the tests of SIGHUP must still receive it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    options, names = split(arguments)
    programs = build(options or ["--tests"])
    rank = {name: at for at, name in enumerate(FIRST)}
    programs.sort(key=lambda program: rank.get(program[0], len(FIRST)))
    tests = [
        (name, program, test)
        for name, program in programs
        for test in tests_of(program, names)
    ]
    jobs = int(os.environ.get("RALPH_TEST_JOBS") or 2 * os.cpu_count())
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rt-") as folder:
        variables = environment()
        runner = Runner(tests, folder, variables)
        threads = [threading.Thread(target=runner.work) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            runner.stop()
            sys.exit("tests/run: interrupted")
    print(f"\n{'wall':>9} {'processor':>10}  tests of each program")
    for program in dict.fromkeys(name for name, _, _ in tests):
        own = [result for result in runner.results if result[3] == program]
        wall, processor = (sum(result[at] for result in own) for at in (0, 1))
        print(f"{wall:8.1f}s {processor:9.1f}s  {len(own)} of {program}")
    results = sorted(runner.results, reverse=True)
    print(f"\nThe {SLOWEST} slowest:")
    for seconds, processor, _, program, test in results[:SLOWEST]:
        print(f"{seconds:8.1f}s {processor:9.1f}s  {program} {test}")
    failed = [f"{program} {test}" for _, _, passed, program, test in results if not passed]
    if failed:
        print("\nFailed:", *failed, sep="\n  ")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = usage.ru_utime + usage.ru_stime
    print(f"\nRALPH_TEST_SEED={variables['RALPH_TEST_SEED']} repeats the samples of the long tests.")
    print(f"{time.monotonic() - began:.0f} s with {jobs} at a time; {processor:.0f} s of processor, build included")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
