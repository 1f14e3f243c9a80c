"""Runs code with top-level await, on one event loop for all code."""

import ast
import asyncio
import inspect
import sys
import threading

from hookbox_shell import parse

CELL = "<cell "


def is_cell(frame):
    return frame.f_code.co_filename.startswith(CELL)


class Loop:
    """The event loop of all code. It runs only while code with an await runs. Unfinished tasks continue with later code."""

    def __init__(self):
        self.loop = None
        self.in_cell = False

    def current(self):
        # Code may have closed the loop, as programs do at their end.
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        return self.loop

    def complete(self, coroutine):
        loop = self.current()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            # An interrupt can hit the loop itself. The awaited task must not continue with later code.
            if not task.done():
                task.cancel()
                try:
                    loop.run_until_complete(task)
                except BaseException:
                    pass
            raise

    def at_hand(self):
        """Whether the caller is code without an await. The loop exists then, but does not run."""
        return self.in_cell and threading.current_thread() is threading.main_thread()


own = Loop()
create_task, get_running_loop = asyncio.create_task, asyncio.get_running_loop


def create_task_at_any_time(coroutine, **options):
    """asyncio.create_task that also works while the loop does not run. The task then begins with the next await."""
    if asyncio._get_running_loop() is None and own.at_hand():
        return own.current().create_task(coroutine, **options)
    return create_task(coroutine, **options)


def get_loop_at_any_time():
    """asyncio.get_running_loop that returns the loop to the user's code even while the loop does not run. Libraries get the
    original answer, because some refuse to work while a loop runs."""
    if asyncio._get_running_loop() is None and own.at_hand() and is_cell(sys._getframe(1)):
        return own.current()
    return get_running_loop()


asyncio.create_task, asyncio.tasks.create_task = create_task_at_any_time, create_task_at_any_time
asyncio.get_running_loop = get_loop_at_any_time


def execute(code, name, space):
    """Returns the value of the last expression; None if the code does not end in one."""
    tree = parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    # The whole code is compiled before a part of it runs.
    parts = [compile(tree, name, "exec", flags)] if tree.body else []
    if last is not None:
        parts.append(compile(ast.Expression(last.value), name, "eval", flags))
    # asyncio.run() of earlier code has unset the current loop.
    asyncio.set_event_loop(own.current())
    own.in_cell = True
    try:
        value = own.complete(evaluate(parts, space)) if any(map(awaits, parts)) else [eval(one, space) for one in parts]
    finally:
        own.in_cell = False
    return value[-1] if last is not None else None


def awaits(part):
    return part.co_flags & inspect.CO_COROUTINE


async def evaluate(parts, space):
    """Runs all parts on the loop if one part awaits: statements before the first await may need the loop, too."""
    values = []
    for part in parts:
        value = eval(part, space)
        values.append(await value if awaits(part) else value)
    return values
