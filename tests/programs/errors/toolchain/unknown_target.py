import os
from unittest import mock

from diastase_toolchain.processor import asked_processor


def program():
    with mock.patch.dict(os.environ, {"DIASTASE_TARGET_CPU": "skylake-avx512"}):
        asked_processor()
