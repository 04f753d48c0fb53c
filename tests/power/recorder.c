/* Records what a process writes, syncs, makes, renames and removes below one folder, in the order in which it happens.

   It is loaded with LD_PRELOAD. POWER_ROOT names the folder, POWER_LOG the file that records are
   added to (see recording.py for their form). Each operation and its record are one step under a lock that all recorded
   processes share, flock on the log: whoever holds that lock can kill a process between two operations, never within
   one. What is mapped into memory is not seen: SQLite maps its -shm file, which no reader may trust after a crash. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, OPEN, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, RMDIR };
enum { DESCRIPTORS_MAX = 65536, MAGIC = 0x50574c47 };

struct record {
    uint32_t magic, kind;
    uint64_t inode;
    int64_t number;
    uint32_t path_bytes, data_bytes;
};

static char root[PATH_MAX];
static size_t root_bytes;
static int log_fd = -1;
static uint64_t inode_of[DESCRIPTORS_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The next definition of a function: the C library's own. */
#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static void give_up(const char *why) {
    dprintf(2, "recorder: %s: %s\n", why, strerror(errno));
    _exit(99);
}

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("POWER_ROOT"), *log = getenv("POWER_LOG");
    if (!folder || !log) return;
    if (!realpath(folder, root)) give_up("no such folder");
    root_bytes = strlen(root);
    __typeof__(open) *real_open = (__typeof__(open) *)dlsym(RTLD_NEXT, "open");
    log_fd = real_open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log_fd < 0) give_up("no log");
}

static void lock(void) {
    pthread_mutex_lock(&mutex);
    while (flock(log_fd, LOCK_EX) < 0)
        if (errno != EINTR) give_up("lock");
}

static void unlock(void) {
    int saved = errno;
    flock(log_fd, LOCK_UN);
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

static void note(uint32_t kind, uint64_t inode, int64_t number, const char *path, const void *data, size_t bytes) {
    int saved = errno;
    struct record head = {MAGIC, kind, inode, number, path ? (uint32_t)strlen(path) : 0, (uint32_t)bytes};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)path, head.path_bytes}, {(void *)data, bytes}};
    __typeof__(writev) *real_writev = (__typeof__(writev) *)dlsym(RTLD_NEXT, "writev");
    if (real_writev(log_fd, parts, 3) != (ssize_t)(sizeof head + head.path_bytes + bytes)) give_up("log");
    errno = saved;
}

static int inside(const char *path) {
    return log_fd >= 0 && !strncmp(path, root, root_bytes) && (path[root_bytes] == '/' || !path[root_bytes]);
}

/* The path in full; empty when it cannot be told, or nothing is recorded. The folder part has to exist. */
static const char *full(int folder, const char *path, char *found) {
    char joined[PATH_MAX * 2], at[64];
    found[0] = 0;
    if (log_fd < 0 || !path) return found;
    int saved = errno;
    if (path[0] == '/') snprintf(joined, sizeof joined, "%s", path);
    else {
        char base[PATH_MAX] = "";
        if (folder == AT_FDCWD) snprintf(at, sizeof at, "/proc/self/cwd");
        else snprintf(at, sizeof at, "/proc/self/fd/%d", folder);
        if (readlink(at, base, sizeof base - 1) < 0) base[0] = 0;
        snprintf(joined, sizeof joined, "%s/%s", base, path);
    }
    char *slash = strrchr(joined, '/');
    while (slash && slash != joined && !slash[1]) { *slash = 0; slash = strrchr(joined, '/'); }
    if (slash) {
        char last[NAME_MAX + 1], parent[PATH_MAX];
        snprintf(last, sizeof last, "%s", slash + 1);
        *slash = 0;
        if (realpath(joined[0] ? joined : "/", parent) && snprintf(found, PATH_MAX, "%s/%s", parent, last) >= PATH_MAX)
            found[0] = 0;
    }
    errno = saved;
    return found;
}

static int watched(int fd) { return fd >= 0 && fd < DESCRIPTORS_MAX && inode_of[fd]; }

/* After an open: remember the descriptor and record what came of it. */
static void opened(int fd, const char *path, int flags, int there) {
    struct stat status;
    if (fd < 0 || fd >= DESCRIPTORS_MAX || fstat(fd, &status)) return;
    inode_of[fd] = status.st_ino;
    note(there ? OPEN : CREATE, status.st_ino, S_ISDIR(status.st_mode), path, NULL, 0);
    if (there && (flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY) note(TRUNCATE, status.st_ino, 0, NULL, NULL, 0);
}

#define OPENED(folder, path, flags, call)                                   \
    do {                                                                    \
        char found[PATH_MAX];                                               \
        if (!inside(full(folder, path, found))) return call;                \
        struct stat before;                                                 \
        lock();                                                             \
        int there = !stat(found, &before), fd = call;                       \
        if (fd >= 0) opened(fd, found, flags, there);                       \
        unlock();                                                           \
        return fd;                                                          \
    } while (0)

#define MODE(last) mode_t mode = 0; if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list more; va_start(more, last); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { REAL(open); MODE(flags); OPENED(AT_FDCWD, path, flags, real(path, flags, mode)); }
int open64(const char *path, int flags, ...) { REAL(open64); MODE(flags); OPENED(AT_FDCWD, path, flags, real(path, flags, mode)); }
int openat(int folder, const char *path, int flags, ...) { REAL(openat); MODE(flags); OPENED(folder, path, flags, real(folder, path, flags, mode)); }
int openat64(int folder, const char *path, int flags, ...) { REAL(openat64); MODE(flags); OPENED(folder, path, flags, real(folder, path, flags, mode)); }
int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int fd) {
    REAL(close);
    if (watched(fd)) inode_of[fd] = 0;
    return real(fd);
}

/* A write at a known place. */
#define WRITTEN(call, place, data)                                                       \
    do {                                                                                 \
        if (!watched(fd)) return call;                                                   \
        lock();                                                                          \
        ssize_t done = call;                                                             \
        if (done > 0) note(WRITE, inode_of[fd], place, NULL, data, (size_t)done);        \
        unlock();                                                                        \
        return done;                                                                     \
    } while (0)

ssize_t write(int fd, const void *data, size_t bytes) { REAL(write); WRITTEN(real(fd, data, bytes), lseek(fd, 0, SEEK_CUR) - done, data); }
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) { REAL(pwrite); WRITTEN(real(fd, data, bytes, at), at, data); }
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) { REAL(pwrite64); WRITTEN(real(fd, data, bytes, at), at, data); }

/* Several pieces: for a watched file they are written one by one, which the caller cannot tell from a short write. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    if (!watched(fd)) return real(fd, parts, count);
    for (int one = 0; one < count; one++)
        if (parts[one].iov_len) return write(fd, parts[one].iov_base, parts[one].iov_len);
    return 0;
}

static ssize_t first_piece(int fd, const struct iovec *parts, int count, off64_t at) {
    for (int one = 0; one < count; one++)
        if (parts[one].iov_len) return pwrite64(fd, parts[one].iov_base, parts[one].iov_len, at);
    return 0;
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { REAL(pwritev); return watched(fd) ? first_piece(fd, parts, count, at) : real(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { REAL(pwritev64); return watched(fd) ? first_piece(fd, parts, count, at) : real(fd, parts, count, at); }

/* What answers 0 when it is done. */
#define DONE(test, call, record)      \
    do {                              \
        if (!(test)) return call;     \
        lock();                       \
        int failed = call;            \
        if (!failed) record;          \
        unlock();                     \
        return failed;                \
    } while (0)

#define OF_FILE(call, kind, number) DONE(watched(fd), call, note(kind, inode_of[fd], number, NULL, NULL, 0))

int ftruncate(int fd, off_t size) { REAL(ftruncate); OF_FILE(real(fd, size), TRUNCATE, size); }
int ftruncate64(int fd, off64_t size) { REAL(ftruncate64); OF_FILE(real(fd, size), TRUNCATE, size); }
int fsync(int fd) { REAL(fsync); OF_FILE(real(fd), SYNC, 0); }
int fdatasync(int fd) { REAL(fdatasync); OF_FILE(real(fd), SYNC, 0); }

/* It promises nothing about a drive's cache nor about the size of a file: not a sync. */
int sync_file_range(int fd, off64_t at, off64_t bytes, unsigned int flags) { REAL(sync_file_range); return real(fd, at, bytes, flags); }

static void grown(int fd) {
    struct stat status;
    if (!fstat(fd, &status)) note(TRUNCATE, inode_of[fd], status.st_size, NULL, NULL, 0);
}
int fallocate(int fd, int how, off_t at, off_t bytes) { REAL(fallocate); DONE(watched(fd), real(fd, how, at, bytes), grown(fd)); }
int fallocate64(int fd, int how, off64_t at, off64_t bytes) { REAL(fallocate64); DONE(watched(fd), real(fd, how, at, bytes), grown(fd)); }
int posix_fallocate(int fd, off_t at, off_t bytes) { REAL(posix_fallocate); DONE(watched(fd), real(fd, at, bytes), grown(fd)); }
int posix_fallocate64(int fd, off64_t at, off64_t bytes) { REAL(posix_fallocate64); DONE(watched(fd), real(fd, at, bytes), grown(fd)); }

#define OF_PATH(folder, path, call, kind)                                            \
    char found[PATH_MAX];                                                            \
    DONE(inside(full(folder, path, found)), call, note(kind, 0, 0, found, NULL, 0))

int unlink(const char *path) { REAL(unlink); OF_PATH(AT_FDCWD, path, real(path), UNLINK); }
int unlinkat(int folder, const char *path, int flags) { REAL(unlinkat); OF_PATH(folder, path, real(folder, path, flags), flags & AT_REMOVEDIR ? RMDIR : UNLINK); }
int rmdir(const char *path) { REAL(rmdir); OF_PATH(AT_FDCWD, path, real(path), RMDIR); }

static void made(const char *path) {
    struct stat status;
    if (!stat(path, &status)) note(MKDIR, status.st_ino, 0, path, NULL, 0);
}
#define MADE(folder, path, call) char found[PATH_MAX]; DONE(inside(full(folder, path, found)), call, made(found))
int mkdir(const char *path, mode_t mode) { REAL(mkdir); MADE(AT_FDCWD, path, real(path, mode)); }
int mkdirat(int folder, const char *path, mode_t mode) { REAL(mkdirat); MADE(folder, path, real(folder, path, mode)); }

#define RENAMED(from, old, to, new, call)                                                                    \
    char source[PATH_MAX], target[PATH_MAX];                                                                 \
    int known = inside(full(from, old, source)), wanted = inside(full(to, new, target));                     \
    DONE(known || wanted, call, note(RENAME, 0, 0, source, target, strlen(target)))
int rename(const char *old, const char *new) { REAL(rename); RENAMED(AT_FDCWD, old, AT_FDCWD, new, real(old, new)); }
int renameat(int from, const char *old, int to, const char *new) { REAL(renameat); RENAMED(from, old, to, new, real(from, old, to, new)); }
