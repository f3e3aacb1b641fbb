"""Objects of an S3 bucket below one prefix, through boto3: written with checksums, read with their size compared.

Credentials and region come from boto3's own places (environment, ~/.aws, role of the instance), never from a job file.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

from clusterwright.onhost.object_storage.layout import Target

PART_BYTES = 64 << 20  # of a multipart upload; S3 accepts 5 MiB to 5 GiB
MOST_PARTS = 9_000  # S3 accepts 10,000
PARALLEL = 4  # parts in flight
ATTEMPTS = (
    3  # to send a part whose checksum the storage reports otherwise; boto3 retries failed requests itself
)
READ_BYTES = 8 << 20
CHECKSUM = "md5"  # that of Content-MD5 and of ETags: against damage on the way, not against an attacker
# A system in FIPS mode refuses MD5 unless it is declared to be a checksum, which Python can since 3.9.
_CHECKSUM_ONLY: Dict[str, Any] = {"usedforsecurity": False} if sys.version_info >= (3, 9) else {}
# answers that a retry does not change
_PERMANENT = frozenset({
    "403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "NoSuchBucket", "InvalidBucketName",
    "PermanentRedirect", "AllAccessDisabled", "InvalidToken", "SecondLevelDomainForbidden",
})  # fmt: skip
# Object storages that accept only BUCKET.HOST addresses, by the end of their endpoint's host name.
_VIRTUAL_HOSTS = (".aliyuncs.com", ".myqcloud.com")


class BucketError(Exception):
    """An operation failed; a retry is useless if it is `permanent`."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class LibraryMissingError(BucketError):
    """boto3 cannot be imported."""


class MissingObjectError(BucketError):
    """The object does not exist."""


class Bucket:
    """The objects of a bucket below a prefix; names are relative to it."""

    def __init__(self, target: Target, endpoint: Optional[str] = None) -> None:
        self._target = target
        try:
            import boto3
            from botocore import config, exceptions
        except ImportError as error:
            raise LibraryMissingError(str(error), permanent=True) from None
        self._errors: Any = exceptions
        # Many S3-compatible storages reject the CRC trailers that boto3 1.36 sends by default; ours are in Content-MD5.
        for name in ("AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION"):
            os.environ.setdefault(name, "when_required")
        address = (
            endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
        )
        host = address.partition("://")[2].partition("/")[0].partition(":")[0]
        style = {"s3": {"addressing_style": "virtual"}} if host.endswith(_VIRTUAL_HOSTS) else {}
        options = config.Config(
            retries={"mode": "standard", "total_max_attempts": 5},
            connect_timeout=10,
            read_timeout=60,
            **style,
        )
        try:
            self._client = boto3.session.Session().client("s3", endpoint_url=endpoint, config=options)
        except (ValueError, self._errors.BotoCoreError) as error:
            raise BucketError(str(error), permanent=True) from None

    def names(self, prefix: str = "") -> List[str]:
        """Return the names of all objects that start with this prefix."""
        return [name for name, _ in self._listing(prefix)]

    def sizes(self, prefix: str) -> Dict[str, int]:
        """Return the sizes in bytes of all objects that start with this prefix, by name."""
        return dict(self._listing(prefix))

    def folders(self) -> List[str]:
        """Return the first parts, up to the slash, of all object names that have one: `step-00000100.0a1b2c3d/`."""
        pages = self._pages("list_objects_v2", Prefix=self._target.prefix, Delimiter="/")
        start = len(self._target.prefix)
        return [row["Prefix"][start:] for response in pages for row in response.get("CommonPrefixes", ())]

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a small object of the bucket.

        Raises:
            BucketError: it is larger than `limit` bytes, missing, or the storage fails.
        """
        body = self._request("get_object", Key=self._key(name))["Body"]
        with body:
            data: bytes = self._guarded(lambda: body.read(limit + 1))
        if len(data) > limit:
            raise BucketError(f"{name} has more than {limit} bytes")
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a small object into the bucket, and verify the checksum that the storage reports."""
        self._send("put_object", data, Key=self._key(name))

    def remove(self, name: str) -> None:
        """Remove an object of the bucket; a missing one is no error."""
        self._request("delete_object", Key=self._key(name))

    def upload(self, name: str, file: BinaryIO, size: int) -> str:
        """Write an open file of `size` bytes in parts, each with a checksum; return the SHA-256 of what was read.

        Raises:
            BucketError: a part could not be written, or the file ended early; nothing of it is left behind.
        """
        part_bytes = max(PART_BYTES, -(-size // MOST_PARTS))
        if size <= part_bytes:
            data = _read(file, size, name)
            self.write(name, data)
            return hashlib.sha256(data).hexdigest()
        key = {"Key": self._key(name)}
        upload = {**key, "UploadId": self._request("create_multipart_upload", **key)["UploadId"]}
        try:
            parts, sha256 = self._upload_parts(file, size, part_bytes, upload)
            self._request("complete_multipart_upload", **upload, MultipartUpload={"Parts": parts})
        except BaseException:
            with suppress(BucketError):
                self._request("abort_multipart_upload", **upload)
            raise
        return sha256

    def _upload_parts(
        self, file: BinaryIO, size: int, part_bytes: int, upload: Dict[str, Any]
    ) -> Tuple[List[Dict[str, Any]], str]:
        digest, futures = hashlib.sha256(), []
        with ThreadPoolExecutor(PARALLEL) as pool:
            for number, start in enumerate(range(0, size, part_bytes), 1):
                data = _read(file, min(part_bytes, size - start), upload["Key"])
                digest.update(data)
                futures.append(pool.submit(self._send, "upload_part", data, PartNumber=number, **upload))
                if number >= PARALLEL:  # at most so many parts are in memory
                    futures[number - PARALLEL].result()
        parts = [{"PartNumber": number, "ETag": future.result()} for number, future in enumerate(futures, 1)]
        return parts, digest.hexdigest()

    def download(self, name: str, size: int) -> Iterator[bytes]:
        """Yield the content of an object of `size` bytes; after a broken connection it continues where it was.

        Raises:
            BucketError: the object has another size, or several attempts in a row yielded nothing.
        """
        received, failures = 0, 0
        while received < size:
            try:
                answer = self._request("get_object", Key=self._key(name), Range=f"bytes={received}-")
                _require_size(name, received + answer["ContentLength"], size)
                with answer["Body"] as body:
                    while data := self._guarded(lambda: body.read(READ_BYTES)):
                        received, failures = received + len(data), 0
                        yield data
            except BucketError as error:
                failures += 1
                if error.permanent or failures == ATTEMPTS:
                    raise

    def abort_uploads(self, folder: str) -> None:
        """Abort multipart uploads to a folder that a killed process has left; their parts would cost money."""
        for response in self._pages("list_multipart_uploads", Prefix=self._key(folder)):
            for row in response.get("Uploads", ()):
                with suppress(MissingObjectError):  # completed or aborted since
                    self._request("abort_multipart_upload", Key=row["Key"], UploadId=row["UploadId"])

    def unfinished_uploads(self) -> List[str]:
        """Return the names of objects that a multipart upload has begun."""
        start = len(self._target.prefix)
        pages = self._pages("list_multipart_uploads", Prefix=self._target.prefix)
        return [row["Key"][start:] for response in pages for row in response.get("Uploads", ())]

    def _key(self, name: str) -> str:
        return self._target.prefix + name

    def _listing(self, prefix: str) -> Iterator[Tuple[str, int]]:
        start = len(self._target.prefix)
        for response in self._pages("list_objects_v2", Prefix=self._key(prefix)):
            yield from ((row["Key"][start:], row["Size"]) for row in response.get("Contents", ()))

    def _send(self, operation: str, data: bytes, **request: Any) -> str:
        """Send bytes with their MD5 by an operation of S3, verify the MD5 that the storage reports; return the ETag.

        Raises:
            BucketError: it differs in each of ATTEMPTS attempts.
        """
        md5 = hashlib.new(CHECKSUM, data, **_CHECKSUM_ONLY)
        encoded = base64.b64encode(md5.digest()).decode()
        for _ in range(ATTEMPTS):
            answer = self._request(operation, Body=data, ContentMD5=encoded, **request)
            tag: str = answer["ETag"]
            # With encryption by KMS or by a key of the customer an ETag is no MD5 (S3's API reference, Object).
            encrypted = answer.get("SSECustomerAlgorithm") or "kms" in str(answer.get("ServerSideEncryption"))
            if encrypted or tag.strip('"') == md5.hexdigest():
                return tag
        raise BucketError(f"{request['Key']}: the checksum in the storage differs from that of the file")

    def _pages(self, operation: str, **request: Any) -> Iterator[Dict[str, Any]]:
        """Yield the pages of a list; those of uploads continue at other names than those of objects."""
        follow = {"list_objects_v2": {"ContinuationToken": "NextContinuationToken"}}.get(
            operation, {"KeyMarker": "NextKeyMarker", "UploadIdMarker": "NextUploadIdMarker"}
        )
        response = self._request(operation, **request)
        yield response
        while response.get("IsTruncated"):
            response = self._request(
                operation, **request, **{name: response[source] for name, source in follow.items()}
            )
            yield response

    def _request(self, operation: str, **request: Any) -> Dict[str, Any]:
        method = getattr(self._client, operation)
        try:
            answer: Dict[str, Any] = self._guarded(lambda: method(Bucket=self._target.bucket, **request))
        except MissingObjectError:
            raise MissingObjectError(f"{request.get('Key')} does not exist", permanent=True) from None
        return answer

    def _guarded(self, action: Any) -> Any:
        """Return the result of a call of boto3.

        An error for an object that does not exist is a MissingObjectError; `permanent` is True if a retry cannot
        succeed.

        Raises:
            BucketError: the call failed.
        """
        try:
            return action()
        except self._errors.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in ("404", "NoSuchKey", "NoSuchUpload"):
                raise MissingObjectError(str(error), permanent=True) from None
            raise BucketError(f"{self._target}: {error}", permanent=code in _PERMANENT) from None
        except self._errors.BotoCoreError as error:
            names = ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "InvalidRegionError")
            raise BucketError(str(error), permanent=type(error).__name__ in names) from None
        except OSError as error:
            raise BucketError(str(error)) from None


def _require_size(name: str, actual: int, size: int) -> None:
    """Raise BucketError if an object has another size than its description."""
    if actual != size:
        raise BucketError(f"{name} has {actual} bytes of {size}", permanent=True)


def _read(file: BinaryIO, count: int, name: str) -> bytes:
    """Read and return exactly `count` bytes; raises BucketError if the file ends early."""
    data = file.read(count)
    if len(data) != count:
        raise BucketError(f"{name}: the file ended early")
    return data
