"""A run as a process of its own: it holds the lock, writes the event log, and anybody here may watch and steer it.

    watched = current(folder, seat)      a run that goes on, or None
    await launch(folder, plan, "", seat)  begin one apart from this terminal
    process.measure(...)                  measure in this very process, as `linkladder run` does

Progress is what the events have come to so far; every front end draws it in its own way.
"""
