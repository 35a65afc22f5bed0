"""Many grants at once, for test-grants and tools/bench: inside tools/testenv."""
import os
import select
import struct

from wire import OPEN, RELEASE, REPLY, WANT_ID, Grant, open_body, release_body


def make_files(folder, count):
    """Makes files of an ordinary user, so that every id is writable. Returns their names."""
    folder.mkdir()
    for n in range(count):
        fd = os.open(folder / f"f{n}", os.O_WRONLY | os.O_CREAT, 0o644)
        os.fchown(fd, 1001, 2001)
        os.close(fd)
    return [f"f{n}" for n in range(count)]


def flood(broker, kind, bodies):
    """Sends all requests at once, as fast as the sidecar takes them, and returns the answers in the same order."""
    answers, waiting, at = {}, {}, 0
    broker.socket.setblocking(False)
    try:
        while len(answers) < len(bodies):
            events = select.POLLIN | (select.POLLOUT if at < len(bodies) else 0)
            poll = select.poll()
            poll.register(broker.socket, events)
            ready = poll.poll(20_000)
            if not ready:
                raise TimeoutError(f"{len(answers)} of {len(bodies)} answered")
            while at < len(bodies) and ready[0][1] & select.POLLOUT:
                packet = struct.pack("=IIQ", kind, 16 + len(bodies[at]), broker.next_id) + bodies[at]
                try:
                    broker.socket.send(packet)
                except BlockingIOError:
                    break
                waiting[broker.next_id] = at
                broker.next_id += 1
                at += 1
            while ready[0][1] & select.POLLIN:
                try:
                    packet = broker.socket.recv(4096)
                except BlockingIOError:
                    break
                got, _, number = struct.unpack("=IIQ", packet[:16])
                if got == kind | REPLY:
                    answers[waiting.pop(number)] = packet[16:]
                else:
                    broker.events.append((got, packet[16:]))
    finally:
        broker.socket.setblocking(True)
        broker.socket.settimeout(20)
    return [answers[n] for n in range(len(bodies))]


def flood_open(broker, handles, uid=1001, gid=2001, flags=WANT_ID):
    bodies = [open_body(handle, uid, gid, flags=flags) for handle in handles]
    return [Grant(body) for body in flood(broker, OPEN, bodies)]


def flood_release(broker, ids):
    return [struct.unpack("=iI", body)[0] for body in
            flood(broker, RELEASE, [release_body([number]) for number in ids])]
