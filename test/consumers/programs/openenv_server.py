"""An OpenEnv environment that repeats what it hears, as the image of an environment would serve it."""

import os
from typing import Any

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Say(Action):
    word: str


class Heard(Observation):
    heard: str


class Echo(Environment[Say, Heard, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Heard:
        self._state = State(episode_id=episode_id)
        return Heard(heard=os.environ.get("GREETING", "nothing"))

    def step(self, action: Say, timeout_s: float | None = None, **kwargs: Any) -> Heard:
        self._state.step_count += 1
        return Heard(heard=action.word, reward=len(action.word), done=action.word == "bye")

    @property
    def state(self) -> State:
        return self._state


if __name__ == "__main__":
    app = create_fastapi_app(Echo, Say, Heard, max_concurrent_envs=4)
    uvicorn.run(app, host="0.0.0.0", port=int(os.environ.get("PORT", "8000")), log_level="warning")
