"""Training the student encoder: data, signals, the torch module, the distillation loop, the export.

Never imported by building or serving. Needs the locked group ``requirements/training.lock``.
"""
