"""AES-SIV (RFC 5297) with AES (FIPS 197), written for clarity."""
import functools


def multiply(a, b):
    """In the field of AES, whose polynomial is x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def make_box():
    box = []
    for value in range(256):
        inverse = next((other for other in range(256) if multiply(value, other) == 1), 0)
        rotated = inverse
        for _ in range(4):
            rotated = (rotated << 1 | rotated >> 7) & 255
            inverse ^= rotated
        box.append(inverse ^ 0x63)
    return box


BOX = make_box()
TIMES = {factor: [multiply(value, factor) for value in range(256)] for factor in (2, 3)}


@functools.lru_cache(maxsize=64)
def round_keys(key):
    words = [list(key[at:at + 4]) for at in range(0, len(key), 4)]
    size, power = len(words), 1
    while len(words) < 4 * (size + 7):
        word = words[-1]
        if len(words) % size == 0:
            word = [BOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= power
            power = multiply(power, 2)
        elif size > 6 and len(words) % size == 4:
            word = [BOX[byte] for byte in word]
        words.append([a ^ b for a, b in zip(word, words[-size])])
    return [sum(words[at:at + 4], []) for at in range(0, len(words), 4)]


def encrypt_block(keys, block):
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number, key in enumerate(keys[1:], 1):
        state = [BOX[byte] for byte in state]
        state = [state[(place + 4 * (place % 4)) % 16] for place in range(16)]
        if number < len(keys) - 1:
            mixed = []
            for column in range(0, 16, 4):
                a = state[column:column + 4]
                mixed += [TIMES[2][a[i]] ^ TIMES[3][a[(i + 1) % 4]] ^ a[(i + 2) % 4] ^ a[(i + 3) % 4]
                          for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, key)]
    return bytes(state)


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def double(block):
    """In the field of CMAC."""
    number = int.from_bytes(block, "big") << 1
    return ((number ^ 0x87 if number >> 128 else number) & (1 << 128) - 1).to_bytes(16, "big")


def cmac(keys, message):
    last_key = double(encrypt_block(keys, bytes(16)))
    blocks = [message[at:at + 16] for at in range(0, len(message), 16)] or [b""]
    if len(blocks[-1]) < 16:
        last_key = double(last_key)
        blocks[-1] = (blocks[-1] + b"\x80").ljust(16, b"\0")
    blocks[-1] = xor(blocks[-1], last_key)
    mac = bytes(16)
    for block in blocks:
        mac = encrypt_block(keys, xor(mac, block))
    return mac


def synthetic_vector(keys, strings):
    digest = cmac(keys, bytes(16))
    for string in strings[:-1]:
        digest = xor(double(digest), cmac(keys, string))
    last = strings[-1]
    if len(last) >= 16:
        return cmac(keys, last[:-16] + xor(last[-16:], digest))
    return cmac(keys, xor((last + b"\x80").ljust(16, b"\0"), double(digest)))


def counter(keys, vector, text):
    mask = (1 << 128) - 1 & ~(1 << 63) & ~(1 << 31)
    start = int.from_bytes(vector, "big") & mask
    stream = b"".join(encrypt_block(keys, ((start + i) & (1 << 128) - 1).to_bytes(16, "big"))
                      for i in range(-(-len(text) // 16)))
    return xor(text, stream)


def seal(key, text, associated):
    """Returns the vector and the encrypted text. `key` has 32 bytes for AES-128 or 64 for AES-256."""
    half = len(key) // 2
    vector = synthetic_vector(round_keys(key[:half]), [*associated, text])
    return vector + counter(round_keys(key[half:]), vector, text)


def unseal(key, sealed, associated):
    """Returns the text, or None if `sealed` was not made with the key and the associated strings."""
    half = len(key) // 2
    text = counter(round_keys(key[half:]), sealed[:16], sealed[16:])
    return text if synthetic_vector(round_keys(key[:half]), [*associated, text]) == sealed[:16] else None
