//! One tool use from request to result: the fourteen steps.
