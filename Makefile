# Every target does its own set-up; a fresh machine needs Python 3.11 and nothing else.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
STORE ?= mlruns
PORT ?= 5000

export HF_HUB_OFFLINE := 1
export RAY_USAGE_STATS_ENABLED := 0
export RAY_AUTH_MODE := token
export VLLM_NO_USAGE_STATS := 1
# uv does not read pip's setting of the same meaning.
export UV_FIND_LINKS := $(PIP_FIND_LINKS)

# Tests that neither start processes to measure nor take times: two at once, while engines are installed.
QUICK_TESTS := tests/unit tests/property tests/contracts tests/golden tests/statistics
REAL_TESTS := tests/integration tests/ruler tests/engines tests/cluster

.PHONY: setup demo test quick-tests engines endurance check bench bench-peers ui lock clean

setup: $(STAMP)

# The locked CPU build of PyTorch is not on PyPI; where pip's own settings do not lead to it, uv knows its index.
$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode -r requirements.lock || \
	  $(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode --torch-backend cpu -r requirements.lock
	$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --editable .
	touch $(STAMP)

demo: setup
	$(BIN)/seatrial models fetch smollm2-135m --variant q8_0
	$(BIN)/seatrial run demo --store $(STORE)
	@echo "Look at it: make ui"

test: setup
	$(MAKE) --jobs=2 --output-sync=target quick-tests engines
	$(BIN)/python -m pytest $(REAL_TESTS)

quick-tests: setup
	$(BIN)/python -m pytest --numprocesses=2 --quiet $(QUICK_TESTS)

# Once into the user's cache: the real engines that run on a CPU, and what of MII needs none of its hardware.
engines: setup
	for name in vllm transformers mii; do $(BIN)/seatrial engines install $$name || exit 1; done

endurance: setup engines
	$(BIN)/python -m pytest -m endurance

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m tests.bench --out bench.json

# Other clients beside ours, each in an environment of its own; about a quarter of an hour after their installation.
bench-peers: setup
	$(BIN)/seatrial engines install vllm
	$(BIN)/python -m tests.bench.peers --out bench-peers.json

ui: setup
	$(BIN)/mlflow ui --backend-store-uri sqlite:///$(abspath $(STORE))/mlflow.db --host 127.0.0.1 --port $(PORT)

lock:
	echo "torch==2.13.0+cpu" > $(VENV)/torch.constraint
	$(BIN)/uv pip compile pyproject.toml --group dev --extra llamacpp --extra models --constraint $(VENV)/torch.constraint \
	  --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) bench.json bench-peers.json
