// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/test_vfs.h"

#include <atomic>
#include <cstddef>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace berth::apiserver {
namespace {

std::atomic<std::int64_t> room = TestVfs::kEndless;
sqlite3_vfs shim;
sqlite3_io_methods methods;

struct File {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }
sqlite3_vfs* below() { return static_cast<sqlite3_vfs*>(shim.pAppData); }

int write_if_there_is_room(sqlite3_file* file, const void* bytes, int amount, sqlite3_int64 at) {
  sqlite3_int64 size = 0;
  real(file)->pMethods->xFileSize(real(file), &size);
  const std::int64_t more = at + amount - size;
  if (more > 0 && room.fetch_sub(more) < more) {
    room.fetch_add(more);
    return SQLITE_FULL;
  }
  return real(file)->pMethods->xWrite(real(file), bytes, amount, at);
}

int open_below(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  const int code = below()->xOpen(below(), name, real(file), flags, out_flags);
  if (real(file)->pMethods != nullptr) file->pMethods = &methods;
  return code;
}

void fill_methods() {
  methods.iVersion = 2;
  methods.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
  methods.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
    return real(f)->pMethods->xRead(real(f), to, n, at);
  };
  methods.xWrite = write_if_there_is_room;
  methods.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
    return real(f)->pMethods->xTruncate(real(f), size);
  };
  methods.xSync = [](sqlite3_file* f, int flags) {
    return real(f)->pMethods->xSync(real(f), flags);
  };
  methods.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
    return real(f)->pMethods->xFileSize(real(f), size);
  };
  methods.xLock = [](sqlite3_file* f, int how) { return real(f)->pMethods->xLock(real(f), how); };
  methods.xUnlock = [](sqlite3_file* f, int how) {
    return real(f)->pMethods->xUnlock(real(f), how);
  };
  methods.xCheckReservedLock = [](sqlite3_file* f, int* out) {
    return real(f)->pMethods->xCheckReservedLock(real(f), out);
  };
  methods.xFileControl = [](sqlite3_file* f, int op, void* arg) {
    return real(f)->pMethods->xFileControl(real(f), op, arg);
  };
  methods.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
  methods.xDeviceCharacteristics = [](sqlite3_file* f) {
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
  };
  methods.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
    return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
  };
  methods.xShmLock = [](sqlite3_file* f, int at, int n, int flags) {
    return real(f)->pMethods->xShmLock(real(f), at, n, flags);
  };
  methods.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
  methods.xShmUnmap = [](sqlite3_file* f, int remove) {
    return real(f)->pMethods->xShmUnmap(real(f), remove);
  };
}

}  // namespace

TestVfs::TestVfs() {
  sqlite3_initialize();
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  shim = *usual;
  shim.zName = kName;
  shim.pAppData = usual;
  shim.szOsFile = usual->szOsFile + static_cast<int>(sizeof(File));
  shim.xOpen = open_below;
  // The others look at their own data only through the vfs they are given.
  shim.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
    return below()->xDelete(below(), name, sync);
  };
  shim.xAccess = [](sqlite3_vfs*, const char* name, int flags, int* out) {
    return below()->xAccess(below(), name, flags, out);
  };
  shim.xFullPathname = [](sqlite3_vfs*, const char* name, int size, char* out) {
    return below()->xFullPathname(below(), name, size, out);
  };
  fill_methods();
  set_room(kEndless);
  EXPECT_EQ(sqlite3_vfs_register(&shim, 0), SQLITE_OK);
}

TestVfs::~TestVfs() { sqlite3_vfs_unregister(&shim); }

void TestVfs::set_room(std::int64_t bytes) { room = bytes; }

}  // namespace berth::apiserver
