"""The uploads of one training's checkpoints in a bucket: upload, retention, restore."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from typing import BinaryIO, Dict, List, NamedTuple, Optional

from clusterwright.onhost.lib.checkpoint_manifest import NAME
from clusterwright.onhost.object_storage import local_checkpoints
from clusterwright.onhost.object_storage.bucket import Bucket, BucketError, MissingObjectError
from clusterwright.onhost.object_storage.layout import (
    COMPLETE,
    InvalidUploadError,
    UploadedFile,
    UploadRecord,
    complete_key,
    format_record,
    outdated,
    parse_record,
    step_name,
    step_of_folder,
    steps_of,
)

LIMIT_BYTES = 64 << 20  # of an object in `complete/`, which has about 150 bytes per rank


class DamagedCheckpointError(Exception):
    """A local checkpoint differs from what was saved and is not uploaded."""


class NoIntactUploadError(BucketError):
    """The bucket has uploads, and none of them can be used."""


class Uploaded(NamedTuple):
    """An upload that is complete; not `verified` where torch, which reads the checksums, cannot be imported."""

    step: int
    bytes: int
    verified: bool


class Restored(NamedTuple):
    """The step that was restored, None if the bucket has no upload, and why newer uploads were skipped."""

    step: Optional[int]
    skipped: List[str]


class Uploads:
    """Uploads of the checkpoints in `folder`; `limit` is the number of the newest that are retained."""

    def __init__(self, bucket: Bucket, folder: str, limit: int) -> None:
        self._bucket, self._folder, self._limit = bucket, folder, limit

    def steps(self) -> List[int]:
        """Return the steps with a complete upload, the newest first."""
        return steps_of(self._bucket.names(COMPLETE))

    def upload(self, step: int) -> Optional[Uploaded]:
        """Verify a local checkpoint, upload it and return what was uploaded; None if it is incomplete or removed.

        Raises:
            DamagedCheckpointError: its bytes differ from what was saved.
            BucketError: the upload failed; what was sent does not count and is removed later.
        """
        manifest = local_checkpoints.read_complete(self._folder, step)
        if manifest is None:
            return None
        path = os.path.join(self._folder, step_name(step))
        folder = f"{step_name(step)}.{secrets.token_hex(4)}/"
        with contextlib.ExitStack() as stack:
            try:  # open files stay readable when the training removes the checkpoint meanwhile
                names = [*(part["file"] for part in manifest["parts"]), NAME]
                files = local_checkpoints.open_files(path, names, stack)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise DamagedCheckpointError(
                    f"the checkpoint of step {step} is not uploaded: {error}"
                ) from None
            damaged = local_checkpoints.damage(path)
            if damaged and local_checkpoints.read_complete(self._folder, step) is None:
                return None
            if damaged:
                raise DamagedCheckpointError(f"the checkpoint of step {step} is not uploaded: {damaged}")
            uploaded = [self._upload_file(folder, name, file) for name, file in files.items()]
        self._compare(folder, uploaded)
        upload = UploadRecord(step, folder, uploaded, manifest.get("value"))
        self._bucket.write(complete_key(step), format_record(upload))
        return Uploaded(step, sum(file.bytes for file in uploaded), damaged is not None)

    def _upload_file(self, folder: str, name: str, file: BinaryIO) -> UploadedFile:
        size = os.fstat(file.fileno()).st_size
        return UploadedFile(name, size, self._bucket.upload(folder + name, file, size))

    def _compare(self, folder: str, files: List[UploadedFile]) -> None:
        """Raise BucketError unless the storage lists each file with its size, before the upload counts."""
        stored = self._bucket.sizes(folder)
        for file in files:
            if stored.get(folder + file.name) != file.bytes:
                size = stored.get(folder + file.name)
                raise BucketError(f"{folder}{file.name} has {size} bytes in the storage of {file.bytes}")

    def tidy(self) -> None:
        """Remove uploads beyond the retention, as the local folder does, and what unfinished uploads have left.

        The object in `complete/` goes first, so that an upload whose files are partly removed does not count.
        """
        uploads = self._read_all()
        for step in outdated({step: upload.value for step, upload in uploads.items()}, self._limit):
            self._bucket.remove(complete_key(step))
            del uploads[step]
        self._remove_unfinished({upload.folder for upload in uploads.values()}, max(uploads, default=-1))

    def _read_all(self) -> Dict[int, UploadRecord]:
        uploads = {}
        for step in self.steps():
            with contextlib.suppress(InvalidUploadError, MissingObjectError):
                uploads[step] = self.read(step)
        return uploads

    def _remove_unfinished(self, used: "set[str]", newest: int) -> None:
        """Remove folders without a complete upload, up to the newest one: a later one may be of a running upload."""
        uploads = {name.partition("/")[0] + "/" for name in self._bucket.unfinished_uploads()}
        for folder in {*self._bucket.folders(), *uploads} - used:
            step = step_of_folder(folder)
            if step is not None and step <= newest:
                self._bucket.abort_uploads(folder)
                for name in self._bucket.names(folder):
                    self._bucket.remove(name)

    def read(self, step: int) -> UploadRecord:
        """Return the description of a complete upload.

        Raises:
            InvalidUploadError: it is damaged or of a newer version.
            BucketError: it cannot be read.
        """
        name = complete_key(step)
        try:
            return parse_record(self._bucket.read(name, LIMIT_BYTES), step)
        except InvalidUploadError as error:
            raise InvalidUploadError(f"{name} {error}") from None

    def restore(self, after_step: int = -1) -> Restored:
        """Restore the newest intact upload after a step into the local folder, every byte verified; return its step.

        Also the uploads that were skipped.

        Raises:
            NoIntactUploadError: there are uploads after the step, and none is intact.
            BucketError: the storage does not respond.
        """
        skipped: List[str] = []
        for step in self.steps():
            if step <= after_step:
                break
            problem = self._restore(step)
            if not problem:
                return Restored(step, skipped)
            skipped.append(f"step {step}: {problem}")
        if skipped:
            raise NoIntactUploadError(f"no upload can be used: {'; '.join(skipped)}", permanent=True)
        return Restored(None, skipped)

    def _restore(self, step: int) -> str:
        """Restore one upload; return why it cannot be used, "" if it is restored.

        Raises:
            BucketError: the store failed, and a retry may succeed.
        """
        path = ""
        try:
            upload = self.read(step)
            path = local_checkpoints.create_partial(self._folder, step)
            required, free = sum(file.bytes for file in upload.files), local_checkpoints.free_bytes(path)
            if free is not None and required > free:
                return f"it has {required} bytes, and {self._folder} has {free} bytes free"
            for file in upload.files:
                self._download(upload.folder, file, path)
            if local_checkpoints.read_complete(os.path.dirname(path), step) is None:
                return "its manifest does not match its files"
            damaged = local_checkpoints.damage(path)
            if damaged:
                return damaged
            local_checkpoints.publish(path, self._folder, step)
        except InvalidUploadError as error:
            return str(error)
        except BucketError as error:
            if not error.permanent:
                raise
            return str(error)
        finally:
            if path:
                local_checkpoints.remove_partial(path)
        return ""

    def _download(self, folder: str, file: UploadedFile, path: str) -> None:
        """Download one file of an upload into the folder `path`, and wait until it is on disk.

        Raises:
            BucketError: its size or checksum differs from what was uploaded.
        """
        digest = hashlib.sha256()
        with open(os.path.join(path, file.name), "xb") as target:
            for data in self._bucket.download(folder + file.name, file.bytes):
                digest.update(data)
                target.write(data)
            target.flush()
            os.fsync(target.fileno())
        if digest.hexdigest() != file.sha256:
            message = f"{folder}{file.name} differs from what was uploaded (SHA-256)"
            raise BucketError(message, permanent=True)
