"""A folder on any filesystem that pyarrow opens (local, S3, GCS), with the one guarantee a run
needs: atomic writes.

Locally a write is a synced temporary file renamed into place; on an object store one PUT is atomic
by itself.
"""

import errno
import os
import re
import uuid
from pathlib import Path

import pyarrow.fs as pafs

from llmpedia.errors import InputError

_HINTS = {
    errno.ENOSPC: "free space, then start again: the run resumes",
    errno.EDQUOT: "free space, then start again: the run resumes",
    errno.EROFS: "choose a folder that can be written",
    errno.EACCES: "choose a folder that can be written",
    errno.EPERM: "choose a folder that can be written",
}

# Where Ray unpacks what a job brings along.
_UNPACKED = "working_dir_files"


class Folder:
    """Files by their path relative to ``uri`` (a local path or a URI such as ``s3://bucket/run``)."""

    def __init__(self, uri: str | Path) -> None:
        self.uri = str(uri)
        try:
            if "://" in self.uri:
                self._fs, self._root = pafs.FileSystem.from_uri(self.uri)
            else:
                self._fs = pafs.LocalFileSystem()
                self._root = str(Path(self.uri).absolute())
        except (OSError, ValueError) as e:
            raise InputError(
                f"run folder {self.uri}: cannot be opened ({_first_line(e)}); give a local path or "
                f"an s3:// or gs:// URI"
            ) from e
        self._local = isinstance(self._fs, pafs.LocalFileSystem)
        if self._local:
            self.uri = self._root  # other processes may have another working directory

    def path(self, name: str) -> str:
        """The path that readers of this filesystem take."""
        return f"{self._root}/{name}"

    @property
    def filesystem(self) -> pafs.FileSystem:
        """For pyarrow readers."""
        return self._fs

    def read(self, name: str) -> bytes:
        """Whole content.

        Raises:
            FileNotFoundError: no such file.
            InputError: it cannot be read.
        """
        try:
            with self._fs.open_input_file(self.path(name)) as f:
                data: bytes = f.read()
                return data
        except FileNotFoundError:
            raise
        except OSError as e:
            raise InputError(f"{self.path(name)}: cannot be read ({_first_line(e)})") from e

    def write(self, name: str, data: bytes) -> None:
        """Whole content, atomically and durably; readers see the old file or the new one.

        Raises:
            InputError: the disk is full, the folder is read-only, or another write error.
        """
        try:
            if self._local:
                _write_local(self.path(name), data)
            else:
                with self._fs.open_output_stream(self.path(name)) as f:
                    f.write(data)
        except OSError as e:
            raise self._unwritable(name, e) from e

    def create(self, name: str, data: bytes) -> bool:
        """Write only if no such file is there; False if there is. Exclusive locally, best effort on
        an object store.
        """
        if not self._local:
            if self.exists(name):
                return False
            self.write(name, data)
            return True
        path = self.path(name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except OSError as e:
            if isinstance(e, FileExistsError) and os.path.exists(path):
                return False
            raise self._unwritable(name, e) from e
        try:
            with os.fdopen(fd, "wb") as f:
                f.write(data)
        except OSError as e:
            os.unlink(path)
            raise self._unwritable(name, e) from e
        return True

    def _unwritable(self, name: str, error: OSError) -> InputError:
        hint = _HINTS.get(error.errno or 0, "see the reason; nothing was committed by halves")
        return InputError(f"{self.path(name)}: cannot be written ({_first_line(error)}); {hint}")

    def exists(self, name: str) -> bool:
        """True for a file or a folder."""
        return bool(self._fs.get_file_info(self.path(name)).type != pafs.FileType.NotFound)

    def size(self, name: str) -> int | None:
        """Bytes; None if there is no such file."""
        info = self._fs.get_file_info(self.path(name))
        return info.size if info.type == pafs.FileType.File else None

    def state(self, name: str) -> str:
        """Names, sizes and times of the files directly in a folder, by one listing; equal while
        none changes.
        """
        selector = pafs.FileSelector(self.path(name), allow_not_found=True)
        files = self._fs.get_file_info(selector)
        return "; ".join(sorted(f"{i.base_name} {i.size} {i.mtime_ns}" for i in files))

    def folders(self, name: str) -> list[str]:
        """Names of the folders directly in a folder, sorted; hidden ones left out; empty if there
        is none.
        """
        selector = pafs.FileSelector(self.path(name), allow_not_found=True)
        inside = self._fs.get_file_info(selector)
        return sorted(
            info.base_name
            for info in inside
            if info.type == pafs.FileType.Directory and not info.base_name.startswith(".")
        )

    def list(self, name: str, recursive: bool = False) -> list[str]:
        """Relative paths of the files under a folder, sorted; temporary and hidden ones left out;
        empty if there is no folder.
        """
        selector = pafs.FileSelector(self.path(name), recursive=recursive, allow_not_found=True)
        infos = self._fs.get_file_info(selector)
        cut = len(self._root) + 1
        return sorted(
            i.path[cut:] for i in infos if i.type == pafs.FileType.File and not i.base_name.startswith(".")
        )

    def remove(self, name: str) -> None:
        """Remove a file or a folder with all it holds; nothing if there is none.

        Raises:
            InputError: the folder is read-only, or another error.
        """
        info = self._fs.get_file_info(self.path(name))
        try:
            if info.type == pafs.FileType.Directory:
                self._fs.delete_dir(self.path(name))
            elif info.type == pafs.FileType.File:
                self._fs.delete_file(self.path(name))
        except OSError as e:
            raise self._unwritable(name, e) from e


def is_passing(uri: str) -> bool:
    """Whether a folder is in a Ray job's own copy of its working directory, which Ray removes when
    it needs the space.
    """
    return "://" not in uri and _UNPACKED in Path(uri).absolute().parts


def wave_of(name: str) -> int | None:
    """The wave in a path such as ``tables/entities/wave=00007/part.parquet``; None if it holds
    none.
    """
    match = re.search(r"wave=(\d+)/", name)
    return int(match.group(1)) if match else None


def _write_local(path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    tmp = f"{folder}/.tmp-{uuid.uuid4().hex}"
    try:
        with open(tmp, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(tmp, path)
    except OSError:
        if os.path.exists(tmp):
            os.unlink(tmp)
        raise
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
