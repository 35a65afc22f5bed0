"""SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), and the digest of a directory that
localiofs-notices(7) describes."""
import os
import struct

ALL = (1 << 64) - 1


def rotate(value, bits):
    return (value << bits | value >> 64 - bits) & ALL


def siphash(key, message):
    """key: two integers."""
    v = [key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573]

    def mix():
        v[0], v[2] = v[0] + v[1] & ALL, v[2] + v[3] & ALL
        v[1], v[3] = rotate(v[1], 13) ^ v[0], rotate(v[3], 16) ^ v[2]
        v[0] = rotate(v[0], 32)
        v[2], v[0] = v[2] + v[1] & ALL, v[0] + v[3] & ALL
        v[1], v[3] = rotate(v[1], 17) ^ v[2], rotate(v[3], 21) ^ v[0]
        v[2] = rotate(v[2], 32)

    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) & 0xff])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        mix()
        v[0] ^= word
    v[2] ^= 0xff
    for _ in range(3):
        mix()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def digest(key, names):
    """names: the fileid of each name."""
    return sum(siphash(key, struct.pack("=Q", fileid) + os.fsencode(name)) for name, fileid in names.items()) & ALL


def digest_of(key, path):
    return digest(key, {entry.name: entry.inode() for entry in os.scandir(path)})
