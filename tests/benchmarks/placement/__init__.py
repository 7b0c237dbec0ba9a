"""Policies of placement, judged on replayed and generated job logs of federated sites."""
