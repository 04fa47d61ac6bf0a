"""Where everything meets: inputs, settings, the pipeline, the classifier and the oracle."""
