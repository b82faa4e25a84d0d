"""Which records go into which piece."""


class HeaderTooLarge(Exception):
    """The header, repeated in each piece, is larger than a piece may be: exit status 2."""


def written_pieces(header, records, mode, count=None, size=None):
    """The pieces that -l, -C or both make. `mode`: repeat, first, drop or none."""
    if mode in ("drop", "none"):
        header = b""
    if mode == "repeat" and size is not None and len(header) > size:
        raise HeaderTooLarge()
    if not records:
        return [header] if header else []
    pieces, current, held = [], bytearray(header), 0
    for record in records:
        is_full = count is not None and held == count
        is_too_large = size is not None and held > 0 and len(current) + len(record) > size
        if is_full or is_too_large:
            pieces.append(bytes(current))
            current, held = bytearray(header if mode == "repeat" else b""), 0
        current += record
        held += 1
    pieces.append(bytes(current))
    return pieces


def shared_pieces(header, records, mode, starts, body_start, input_size, total):
    """The pieces that -n makes: a record belongs to the share that contains the offset of its first byte. `starts` are
    offsets in the input."""
    if mode in ("drop", "none"):
        header = b""
    bodies = [b""] * total
    for record, start in zip(records, starts):
        bodies[share_of(start, mode, body_start, input_size, total)] += record
    return [(header if mode == "repeat" or (mode == "first" and number == 0) else b"") + body
            for number, body in enumerate(bodies)]


def written_runs(header, runs, mode, count=None, size=None):
    """Like written_pieces(), for runs: lists of records that stay together. A piece takes whole runs while they fit."""
    if mode in ("drop", "none"):
        header = b""
    if mode == "repeat" and size is not None and len(header) > size:
        raise HeaderTooLarge()
    if not runs:
        return [header] if header else []
    pieces, current, held = [], header, 0
    for run in runs:
        body = b"".join(run)
        is_full = count is not None and held + len(run) > count
        is_too_large = size is not None and len(current) + len(body) > size
        if held > 0 and (is_full or is_too_large):
            pieces.append(current)
            current, held = (header if mode == "repeat" else b""), 0
        current += body
        held += len(run)
    pieces.append(current)
    return pieces


def runs_of(items, keys):
    """Groups the items into lists, one for each run of equal keys."""
    runs = []
    for number, item in enumerate(items):
        if number == 0 or keys[number] != keys[number - 1]:
            runs.append([])
        runs[-1].append(item)
    return runs


def share_of(start, mode, body_start, input_size, total):
    """The piece, counted from 0, of a record that starts at `start`."""
    firsts = []
    for number in range(total):
        if mode == "first":
            firsts.append(max(body_start, input_size * number // total))
        else:
            firsts.append(body_start + (input_size - body_start) * number // total)
    return max(number for number in range(total) if firsts[number] <= start)


def whole(header, records, mode):
    """What `cat` without -n writes."""
    return (b"" if mode in ("drop", "none") else header) + b"".join(records)
