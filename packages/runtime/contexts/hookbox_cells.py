"""Runs a piece of code with top-level await, on an event loop that stays; it must not show what comes of it."""

import ast
import asyncio
import inspect
import sys
import threading

CELL = "<cell "


def is_cell(frame):
    return frame.f_code.co_filename.startswith(CELL)


class Loop:
    """The event loop of all code. It runs while code with an await runs; tasks that are left go on with the next."""

    def __init__(self):
        self.loop = None
        self.in_cell = False

    def current(self):
        # Code may have closed it, as a program does at its end.
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        return self.loop

    def complete(self, coroutine):
        loop = self.current()
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            # An interrupt can meet the loop itself; what was awaited would go on with the next code.
            if not task.done():
                task.cancel()
                try:
                    loop.run_until_complete(task)
                except BaseException:
                    pass
            raise

    def at_hand(self):
        """Whether the caller is code without an await: the loop is there for it, but does not run."""
        return self.in_cell and threading.current_thread() is threading.main_thread()


own = Loop()
create_task, get_running_loop = asyncio.create_task, asyncio.get_running_loop


def create_task_at_any_time(coroutine, **options):
    """asyncio.create_task, also where the loop does not run yet: the task begins with the next await."""
    if asyncio._get_running_loop() is None and own.at_hand():
        return own.current().create_task(coroutine, **options)
    return create_task(coroutine, **options)


def get_loop_at_any_time():
    """asyncio.get_running_loop, which tells code of the loop that it will run on. Libraries get what is true: some
    refuse to work where a loop runs."""
    if asyncio._get_running_loop() is None and own.at_hand() and is_cell(sys._getframe(1)):
        return own.current()
    return get_running_loop()


asyncio.create_task, asyncio.tasks.create_task = create_task_at_any_time, create_task_at_any_time
asyncio.get_running_loop = get_loop_at_any_time


def execute(code, name, space):
    """Returns the value of the last expression; None if the code does not end in one."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    # All of it is compiled before any of it runs.
    parts = [compile(tree, name, "exec", flags)] if tree.body else []
    if last is not None:
        parts.append(compile(ast.Expression(last.value), name, "eval", flags))
    # asyncio.run() takes the current loop away.
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
    """All of a piece of code runs on the loop if any of it awaits: what comes before the first await may need it."""
    values = []
    for part in parts:
        value = eval(part, space)
        values.append(await value if awaits(part) else value)
    return values
