# Every target is the verb of the same name of ./dev; ARGS="..." passes arguments on.
VERBS := demo test check audit pairs bench faults docs lock licences clean format help

.DEFAULT_GOAL := help
.PHONY: $(VERBS)

$(VERBS):
	@./dev $@ $(ARGS)
