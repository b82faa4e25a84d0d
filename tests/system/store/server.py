"""A server that speaks as much of S3 as is needed, and of which every answer can be made to fail. It shares no code
with the module: it checks signatures by the published rules, with Python's hmac.

    with Server({"bucket/key.csv": b"..."}, key="AKID", secret="...") as server:
        server.url                      # http://127.0.0.1:PORT
        server.fault = lambda request: "cut" if request.number == 3 else None

Files can stand for objects: a pathlib.Path is read by mmap. Requests are counted, and so are the bytes of objects that
went each way: `sent` to clients, `received` in parts, and `copied` from an object into a part. `request` has `number`
(from 0), `method`, `key` ("bucket/key"), `query` and `range`. `uploads` are those that are neither completed nor
aborted. `buckets` are those that are there without objects. `expired` are keys to which the server answers
ExpiredToken. Whoever changes the key amid requests holds `lock`.

Faults of any request: "500", "503", "429", "expired", "reset" (before anything is done), "lost" (everything is done,
but no answer comes), "silent", ("redirect", URL), "user" (a 404 that is not about the object). Of reading: "tag",
"whole", "other", "size", "short", "slow", "cut", "endless" (more and more bytes, until nobody reads them).
Of requests with a body: "cut", in the middle of it. Of completions and copies: "error200", a failure with status 200.
"""
import datetime
import hashlib
import hmac
import html
import mmap
import pathlib
import re
import socket
import ssl
import struct
import threading
import time
import urllib.parse
import xml.etree.ElementTree
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LEAST_PART = 5 << 20
FIRST_BYTES = (0, (64 << 10) - 1)   # the range with which an object is found


@dataclass
class Object:
    data: object   # bytes, mmap or memoryview
    tag: str = ""
    modified: str = "Sat, 28 Nov 2026 08:00:00 GMT"

    def __post_init__(self):
        if not self.tag:
            self.tag = '"%s"' % hashlib.md5(self.data).hexdigest()


@dataclass
class Request:
    number: int
    method: str
    key: str
    query: dict
    headers: dict
    range: tuple | None = None


@dataclass
class Upload:
    key: str
    parts: dict = field(default_factory=dict)   # an Object by number


def _quoted(text, safe=""):
    return urllib.parse.quote(text, safe="-._~" + safe)


class InBackground:
    """A server that serves in threads of its own while its `with` lasts."""
    daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *args):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass   # the client has gone


class Server(InBackground, ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, objects=None, key=None, secret=None, token=None, region="us-east-1", port=0,
                 least_part=LEAST_PART):
        super().__init__(("127.0.0.1", port), Handler)
        self.objects, self.uploads, self.buckets = {}, {}, set()
        for name, data in (objects or {}).items():
            self.put(name, data)
        self.key, self.secret, self.token, self.region, self.least_part = key, secret, token, region, least_part
        self.expired = set()
        self.lock = threading.Lock()
        self.fault = self.before = lambda request: None
        self.clock = lambda: datetime.datetime.now(datetime.timezone.utc)
        self.requests, self.sent, self.received, self.copied, self.begun = [], 0, 0, 0, 0
        self.has_tags, self.scheme = True, "http"
        self.support_copy = self.support_condition = self.encodes = True   # `encodes` keys in lists, if it is asked to
        self.checks_source = True   # whether copies respect x-amz-copy-source-if-match
        self.page = 1000   # uploads in a list, at most

    @property
    def url(self):
        return "%s://127.0.0.1:%d" % (self.scheme, self.server_address[1])

    def put(self, name, data, tag=""):
        if isinstance(data, pathlib.Path):
            with open(data, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if data.stat().st_size else b""
        self.objects[name] = Object(data, tag)

    def encrypt(self, certificate, key):
        """From now on it speaks TLS. Files in PEM."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.scheme = "https"

    def number(self):
        with self.lock:
            self.requests.append(None)
            return len(self.requests) - 1


class Refused(Exception):
    def __init__(self, status, code, headers=None, more=""):
        super().__init__(code)
        self.status, self.code, self.headers, self.more = status, code, headers or {}, more


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20

    def log_message(self, *args):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError, ssl.SSLError):
            self.close_connection = True

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        raise ConnectionError

    def answer(self, status, headers, body=b""):
        if self.fault == "lost":
            self.reset()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_xml(self, name, *elements):
        """Elements are pairs of a name and a text, or XML."""
        parts = [one if isinstance(one, str) else "<%s>%s</%s>" % (one[0], html.escape(str(one[1])), one[0])
                 for one in elements]
        text = '<?xml version="1.0" encoding="UTF-8"?>\n<%s>%s</%s>' % (name, "".join(parts), name.split()[0])
        self.answer(200, {"Content-Type": "application/xml"}, text.encode())

    def signature(self, path, query, body):
        """Checks it. (Signature Version 4, by the steps of its description.)"""
        server = self.server
        if server.key is None:
            return
        given = self.headers.get("Authorization", "")
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                             r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", given)
        if not found:
            raise Refused(403, "AccessDenied")
        key, day, region, names, signature = found.groups()
        with server.lock:
            known, secret, token, is_expired = server.key, server.secret, server.token, key in server.expired
        if is_expired:
            raise Refused(400, "ExpiredToken")
        if key != known:
            raise Refused(403, "InvalidAccessKeyId")
        if region != server.region:
            raise Refused(400, "AuthorizationHeaderMalformed", more="<Region>%s</Region>" % server.region)
        if self.headers.get("x-amz-security-token") != token:
            raise Refused(400, "ExpiredToken" if token else "InvalidToken")
        when = datetime.datetime.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
        when = when.replace(tzinfo=datetime.timezone.utc)
        if abs((server.clock() - when).total_seconds()) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        hashed = self.headers["x-amz-content-sha256"]
        if hashed != "UNSIGNED-PAYLOAD" and hashed != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")
        needed = {name.lower() for name in self.headers if name.lower().startswith("x-amz-")} | {"host"}
        if not needed <= set(names.split(";")):
            raise Refused(403, "AccessDenied")
        pairs = sorted((_quoted(name), _quoted(value)) for name, value in query.items())
        canonical = "\n".join([
            self.command, _quoted(path, "/"), "&".join("%s=%s" % pair for pair in pairs),
            *("%s:%s" % (name, " ".join(self.headers[name].split())) for name in names.split(";")), "", names, hashed])
        scope = "%s/%s/s3/aws4_request" % (day, region)
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope,
                          hashlib.sha256(canonical.encode()).hexdigest()])
        digest = ("AWS4" + secret).encode()
        for part in (day, region, "s3", "aws4_request", text):
            digest = hmac.new(digest, part.encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(digest.hex(), signature):
            raise Refused(403, "SignatureDoesNotMatch")

    def serve(self):
        server = self.server
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        size = int(self.headers.get("Content-Length") or 0)
        request = Request(server.number(), self.command, path[1:], query, dict(self.headers))
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        request.range = found and tuple(map(int, found.groups()))
        server.requests[request.number] = request
        server.before(request)
        self.fault = fault = server.fault(request)
        body = self.rfile.read(size // 3 if fault == "cut" else size)
        if fault == "cut" and self.command in ("PUT", "POST"):
            self.reset()
        try:
            if self.command in ("PUT", "POST") and "Content-Length" not in self.headers:
                raise Refused(411, "MissingContentLength")
            if fault in ("500", "503", "429"):
                raise Refused(int(fault), "SlowDown" if fault == "503" else "InternalError",
                              {"Retry-After": "0"} if fault == "429" else {})
            if fault == "expired":
                raise Refused(400, "ExpiredToken")
            if fault == "user":
                raise Refused(404, "NoSuchUser")
            if fault == "reset":
                self.reset()
            if isinstance(fault, tuple):   # ("redirect", URL)
                raise Refused(302, "Found", {"Location": fault[1]})
            if fault == "silent":
                time.sleep(1000)
            if not query.keys() & {"X-Amz-Signature"}:
                self.signature(path, query, body)
            getattr(self, "serve_" + self.command.lower())(request, body, fault)
        except Refused as refusal:
            xml = "<Error><Code>%s</Code><Message>no</Message>%s</Error>" % (refusal.code, refusal.more)
            self.answer(refusal.status, {"Content-Type": "application/xml", **refusal.headers}, xml.encode())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def need_bucket(self, key):
        bucket = key.partition("/")[0]
        if bucket not in self.server.buckets and not any(name.startswith(bucket + "/") for name in self.server.objects):
            raise Refused(404, "NoSuchBucket")

    def object_of(self, key):
        self.need_bucket(key)
        if key not in self.server.objects:
            raise Refused(404, "NoSuchKey")
        return self.server.objects[key]

    def upload_of(self, request):
        self.need_bucket(request.key)
        upload = self.server.uploads.get(request.query["uploadId"])
        if upload is None or upload.key != request.key:
            raise Refused(404, "NoSuchUpload")
        return upload

    def serve_get(self, request, body, fault):
        if "uploads" in request.query:
            self.list_uploads(request)
            return
        one = self.object_of(request.key)
        if request.headers.get("If-Match", one.tag) != one.tag:
            raise Refused(412, "PreconditionFailed")
        size = len(one.data)
        headers = {"ETag": one.tag, "Last-Modified": one.modified, "Accept-Ranges": "bytes"}
        if not self.server.has_tags:
            del headers["ETag"]
        if fault == "tag":
            headers["ETag"] = '"another"'
        if request.range is None or fault == "whole":
            self.answer(200, headers, bytes(one.data))
            return
        begin, end = request.range[0], min(request.range[1] + 1, size)
        if begin >= size:
            raise Refused(416, "InvalidRange", {"Content-Range": "bytes */%d" % size})
        if fault == "other":
            begin, end = (begin - 1, end - 1) if begin else (begin + 1, min(end + 1, size))
        if fault == "size":
            size += 1
        headers["Content-Range"] = "bytes %d-%d/%d" % (begin, end - 1, size)
        data = memoryview(one.data)[begin:end]
        self.send_response(206)
        for name, value in headers.items():
            self.send_header(name, value)
        if fault == "endless":
            self.close_connection = True
            self.end_headers()
            for _ in range(1 << 14):   # to be sure that this ends
                self.wfile.write(bytes(1 << 16))
            return
        self.send_header("Content-Length", str(len(data)))
        if fault == "short":
            data = data[:len(data) // 2]
        self.end_headers()
        if fault == "slow":
            for at in range(0, len(data), max(1, len(data) // 5)):
                self.wfile.write(data[at:at + max(1, len(data) // 5)])
                self.wfile.flush()
                time.sleep(0.05)
        elif fault == "cut":
            self.wfile.write(data[:len(data) // 3])
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.wfile.write(data)
        with self.server.lock:
            self.server.sent += len(data)
        if fault in ("short", "cut"):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def serve_head(self, request, body, fault):
        one = self.object_of(request.key)
        if fault == "lost":
            self.reset()
        self.send_response(200)
        for name, value in (("ETag", one.tag), ("Last-Modified", one.modified), ("Content-Length", len(one.data))):
            self.send_header(name, str(value))
        self.end_headers()

    def serve_put(self, request, body, fault):
        self.need_bucket(request.key)
        if "uploadId" not in request.query:
            self.server.put(request.key, body)
            self.answer(200, {"ETag": self.server.objects[request.key].tag})
            return
        upload, number = self.upload_of(request), int(request.query["partNumber"])
        if not 1 <= number <= 10000:
            raise Refused(400, "InvalidArgument")
        is_copy = "x-amz-copy-source" in self.headers
        if is_copy and fault == "error200":
            self.answer_xml("Error", ("Code", "InternalError"))
            return
        part = Object(self.source() if is_copy else body)
        with self.server.lock:
            if is_copy:
                self.server.copied += len(part.data)
            else:
                self.server.received += len(part.data)
            upload.parts[number] = part
        if is_copy:
            self.answer_xml("CopyPartResult", ("LastModified", "2026-11-28T08:00:00.000Z"), ("ETag", part.tag))
        else:
            self.answer(200, {"ETag": part.tag})

    def source(self):
        """What a part is copied from."""
        if not self.server.support_copy:
            raise Refused(501, "NotImplemented")
        one = self.object_of(urllib.parse.unquote(self.headers["x-amz-copy-source"]).removeprefix("/"))
        if self.server.checks_source and self.headers.get("x-amz-copy-source-if-match", one.tag) != one.tag:
            raise Refused(412, "PreconditionFailed")
        if "x-amz-copy-source-range" not in self.headers:
            return one.data
        if len(one.data) < LEAST_PART:
            raise Refused(400, "InvalidRequest")
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["x-amz-copy-source-range"])
        if not found or not int(found[1]) <= int(found[2]) < len(one.data):
            raise Refused(400, "InvalidArgument")
        return memoryview(one.data)[int(found[1]):int(found[2]) + 1]

    def serve_post(self, request, body, fault):
        self.need_bucket(request.key)
        server = self.server
        if "uploads" in request.query:
            with server.lock:
                server.begun += 1
                name = "%04d+/=&<" % server.begun
                server.uploads[name] = Upload(request.key)
            self.answer_xml("InitiateMultipartUploadResult", ("Bucket", request.key.partition("/")[0]),
                            ("Key", request.key.partition("/")[2]), ("UploadId", name))
            return
        upload = self.upload_of(request)
        condition = self.headers.get("If-None-Match")
        if condition is not None and not server.support_condition:
            raise Refused(501, "NotImplemented")
        if fault == "error200":
            self.answer_xml("Error", ("Code", "InternalError"))
            return
        parts = self.listed_parts(upload, body)
        digest = hashlib.md5(b"".join(bytes.fromhex(part.tag.strip('"')) for part in parts)).hexdigest()
        data = b"".join(part.data for part in parts)
        with server.lock:
            if condition == "*" and request.key in server.objects:
                raise Refused(412, "PreconditionFailed")
            if server.uploads.pop(request.query["uploadId"], None) is None:
                raise Refused(404, "NoSuchUpload")
            server.put(request.key, data, '"%s-%d"' % (digest, len(parts)))
        self.answer_xml('CompleteMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"',
                        ("ETag", server.objects[request.key].tag))

    def listed_parts(self, upload, body):
        try:
            listed = [(int(part.findtext("{*}PartNumber")), part.findtext("{*}ETag").strip('"'))
                      for part in xml.etree.ElementTree.fromstring(body).iterfind("{*}Part")]
        except (xml.etree.ElementTree.ParseError, TypeError, ValueError, AttributeError):
            raise Refused(400, "MalformedXML") from None
        if not listed:
            raise Refused(400, "MalformedXML")
        if any(one[0] >= other[0] for one, other in zip(listed, listed[1:])):
            raise Refused(400, "InvalidPartOrder")
        if any(number not in upload.parts or upload.parts[number].tag.strip('"') != tag for number, tag in listed):
            raise Refused(400, "InvalidPart")
        parts = [upload.parts[number] for number, _ in listed]
        if any(len(part.data) < self.server.least_part for part in parts[:-1]):
            raise Refused(400, "EntityTooSmall")
        return parts

    def serve_delete(self, request, body, fault):
        self.need_bucket(request.key)
        if "uploadId" in request.query:
            self.upload_of(request)
            with self.server.lock:
                self.server.uploads.pop(request.query["uploadId"], None)
        else:
            self.server.objects.pop(request.key, None)
        self.answer(204, {})

    def list_uploads(self, request):
        self.need_bucket(request.key)
        server, query, bucket = self.server, request.query, request.key.partition("/")[0]
        with server.lock:
            found = sorted((upload.key.partition("/")[2], name) for name, upload in server.uploads.items()
                           if upload.key.startswith("%s/%s" % (bucket, query.get("prefix", ""))))
        after = (query.get("key-marker", ""), query.get("upload-id-marker", ""))
        found = [one for one in found if one > after]
        page = found[:min(server.page, int(query.get("max-uploads", 1000)))]
        is_encoded = server.encodes and query.get("encoding-type") == "url"
        shown = lambda key: urllib.parse.quote_plus(key, safe="/") if is_encoded else key  # noqa: E731
        last = [("NextKeyMarker", shown(page[-1][0])), ("NextUploadIdMarker", page[-1][1])] if page else []
        self.answer_xml("ListMultipartUploadsResult", *[("EncodingType", "url")] * is_encoded, *last,
                        ("IsTruncated", "true" if len(page) < len(found) else "false"),
                        *("<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>" %
                          (html.escape(shown(key)), html.escape(name)) for key, name in page))
