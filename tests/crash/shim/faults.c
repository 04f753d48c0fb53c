/* Faults of the disk on demand: loaded with LD_PRELOAD, told what to do through a file that the test maps too.
 *
 * A word at zero is off. `writes` and `syncs` count down to the call that fails; with `stay` set, all later ones fail,
 * too. `room`, when set, is what statvfs says is free. `short_bytes` of a failing write reach the file all the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

struct orders {
    int64_t writes, write_errno, syncs, sync_errno, stay, short_bytes, room_set, room;
};

static struct orders *orders;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, sizeof(struct orders), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (found != MAP_FAILED) orders = found;
}

static int fails(int64_t *left) {
    if (!orders || __atomic_load_n(left, __ATOMIC_SEQ_CST) == 0) return 0;
    int64_t now = __atomic_sub_fetch(left, 1, __ATOMIC_SEQ_CST);
    if (now > 0) return 0;
    if (orders->stay) __atomic_store_n(left, 1, __ATOMIC_SEQ_CST);
    return 1;
}

typedef ssize_t (*pwrite_t)(int, const void *, size_t, off64_t);

static ssize_t write_at(pwrite_t real, int file, const void *bytes, size_t count, off64_t place) {
    if (!fails(&orders->writes)) return real(file, bytes, count, place);
    if (orders->short_bytes > 0) {
        size_t part = (size_t)orders->short_bytes < count ? (size_t)orders->short_bytes : count;
        real(file, bytes, part, place);
    }
    errno = (int)orders->write_errno;
    return -1;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) {
    static pwrite_t real;
    if (!real) real = (pwrite_t)dlsym(RTLD_NEXT, "pwrite64");
    return orders ? write_at(real, file, bytes, count, place) : real(file, bytes, count, place);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) { return pwrite64(file, bytes, count, place); }

static int sync_with(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (orders && fails(&orders->syncs)) {
        errno = (int)orders->sync_errno;
        return -1;
    }
    return real(file);
}

int fdatasync(int file) { return sync_with("fdatasync", file); }

int fsync(int file) { return sync_with("fsync", file); }

static void shrink(struct statvfs *found) {
    if (orders && orders->room_set) found->f_bavail = (fsblkcnt_t)((uint64_t)orders->room / found->f_frsize);
}

int statvfs(const char *path, struct statvfs *found) {
    int done = ((int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs"))(path, found);
    if (done == 0) shrink(found);
    return done;
}

int statvfs64(const char *path, struct statvfs64 *found) {
    int done = ((int (*)(const char *, struct statvfs64 *))dlsym(RTLD_NEXT, "statvfs64"))(path, found);
    if (done == 0) shrink((struct statvfs *)found);
    return done;
}
