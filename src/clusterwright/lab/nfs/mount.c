/* mount.nfs4 of a lab's host: the program that mount(8) runs for an NFS folder.
 *
 * The machine's kernel may lack NFS: files are read by libnfs and served by FUSE. As with a hard mount, reads and
 * writes block while the server is down. State that a restarted server has lost (open files, the session) is
 * requested again. One request at a time: this is for tests, not for speed.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <nfsc/libnfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 32, ANSWER_MS = 5000, ODD_S = 60, CHUNK = 65536 }; /* FAILED: mount(8)'s own code */
enum { WRITTEN = 2048 }; /* libnfs 4.0 sends no larger request: it gives a call 4 KiB to be put together in */

static char server[256], export_path[1024];
static double remembered_s = 3; /* nfs(5): acregmin */
static struct nfs_context *nfs;
static unsigned session; /* grows whenever the server is asked anew */

struct file {
    struct nfsfh *handle;
    unsigned session;
    int flags;
};

static struct nfs_context *reach(char *why, size_t room)
{
    struct nfs_context *found = nfs_init_context();
    if (!found)
        exit(FAILED);
    nfs_set_version(found, 4);
    nfs_set_autoreconnect(found, 0);
    nfs_set_timeout(found, ANSWER_MS);
    if (nfs_mount(found, server, export_path)) {
        snprintf(why, room, "%s", nfs_get_error(found));
        nfs_destroy_context(found);
        return NULL;
    }
    return found;
}

static void reach_again(void)
{
    char why[256];
    nfs_destroy_context(nfs); /* with what it had open */
    while (!(nfs = reach(why, sizeof why)))
        sleep(1);
    session++;
}

/* Errors of a file system; any other error means that the server is down, or has lost the session. */
static int is_answer(int code)
{
    switch (-code) {
    case ENOENT: case EEXIST: case EACCES: case EPERM: case ENOTDIR: case EISDIR: case ENOTEMPTY: case ENOSPC:
    case EDQUOT: case EROFS: case ENAMETOOLONG: case EXDEV: case EFBIG: case EMLINK: case ELOOP:
        return 1;
    }
    return code >= 0;
}

static void as_caller(void)
{
    struct fuse_context *caller = fuse_get_context();
    nfs_set_uid(nfs, (int)caller->uid);
    nfs_set_gid(nfs, (int)caller->gid);
}

/* Whether to ask once more: with files opened anew at first, as libnfs closes a file for all who have it open; then
 * with the server asked anew. What stays odd with a server that can be reached is given up. */
static int once_more(int code, time_t began, int *asked)
{
    if (is_answer(code) || time(NULL) - began > ODD_S)
        return 0;
    if (!(*asked)++) {
        session++;
        return 1;
    }
    sleep(1);
    reach_again();
    return 1;
}

#define ASK(call)                                  \
    int code, asked = 0;                           \
    time_t began = time(NULL);                     \
    do {                                           \
        as_caller();                               \
        code = (call);                             \
    } while (once_more(code, began, &asked));              \
    return code < 0 ? (code > -4096 ? code : -EIO) : code

static int get_attributes(const char *path, struct stat *to, struct fuse_file_info *info)
{
    struct nfs_stat_64 from;
    int code, asked = 0;
    time_t began = time(NULL);
    (void)info;
    do {
        as_caller();
        code = nfs_lstat64(nfs, path, &from);
    } while (once_more(code, began, &asked));
    if (code < 0)
        return code;
    memset(to, 0, sizeof *to);
    to->st_ino = from.nfs_ino;
    to->st_mode = (mode_t)from.nfs_mode;
    to->st_nlink = from.nfs_nlink;
    to->st_uid = (uid_t)from.nfs_uid;
    to->st_gid = (gid_t)from.nfs_gid;
    to->st_size = (off_t)from.nfs_size;
    to->st_blocks = (blkcnt_t)(from.nfs_used / 512);
    to->st_blksize = CHUNK;
    to->st_atim = (struct timespec){(time_t)from.nfs_atime, (long)from.nfs_atime_nsec};
    to->st_mtim = (struct timespec){(time_t)from.nfs_mtime, (long)from.nfs_mtime_nsec};
    to->st_ctim = (struct timespec){(time_t)from.nfs_ctime, (long)from.nfs_ctime_nsec};
    return 0;
}

static struct file *file_of(struct fuse_file_info *info) { return (struct file *)(uintptr_t)info->fh; }

static int open_handle(const char *path, int flags, mode_t mode, struct nfsfh **handle)
{
    ASK(flags & O_CREAT ? nfs_open2(nfs, path, flags, (int)mode, handle) : nfs_open(nfs, path, flags, handle));
}

static int link_to(const char *from, const char *to) { ASK(nfs_link(nfs, from, to)); }

/* Create a file of that name; closed before its mode is set, which libnfs 4.0 omits. */
static int make(const char *path, mode_t mode)
{
    struct nfsfh *handle;
    int code = open_handle(path, O_CREAT | O_WRONLY, mode, &handle);
    if (code < 0)
        return code;
    nfs_close(nfs, handle);
    nfs_chmod(nfs, path, (int)mode);
    return 0;
}

/* Create a file that must not exist yet. By a link, as libnfs 4.0 opens new files in an unusable way. */
static int claim(const char *path, mode_t mode)
{
    static unsigned number;
    char beside[4096];
    int code, folder = (int)(strrchr(path, '/') - path);
    snprintf(beside, sizeof beside, "%.*s/.claim-%d-%u", folder, path, (int)getpid(), number++);
    if ((code = make(beside, mode)) < 0)
        return code;
    code = link_to(beside, path);
    nfs_unlink(nfs, beside);
    return code < 0 ? code : 0;
}

static int open_file(const char *path, mode_t mode, struct fuse_file_info *info)
{
    struct file *file = calloc(1, sizeof *file);
    int code;
    if (!file)
        return -ENOMEM;
    code = !(info->flags & O_CREAT) ? 0 : info->flags & O_EXCL ? claim(path, mode & 07777) : make(path, mode & 07777);
    file->flags = info->flags & (O_ACCMODE | O_TRUNC);
    if (code >= 0)
        code = open_handle(path, file->flags, 0, &file->handle);
    file->session = session;
    file->flags &= O_ACCMODE; /* what is opened again keeps what is in it */
    info->fh = (uint64_t)(uintptr_t)file;
    if (code < 0)
        free(file);
    return code < 0 ? code : 0;
}

static int op_open(const char *path, struct fuse_file_info *info) { return open_file(path, 0, info); }

static int op_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    info->flags |= O_CREAT;
    return open_file(path, mode, info);
}

/* The handle of this session. */
static int renew(const char *path, struct file *file)
{
    int code = 0;
    if (file->session != session) {
        code = open_handle(path, file->flags, 0, &file->handle);
        file->session = session;
    }
    return code < 0 ? code : 0;
}

static int with_handle(const char *path, struct file *file, int (*act)(struct file *, void *), void *with)
{
    int code, asked = 0;
    time_t began = time(NULL);
    do {
        code = renew(path, file);
        as_caller();
        if (code >= 0)
            code = act(file, with);
    } while (once_more(code, began, &asked));
    return code < 0 && code <= -4096 ? -EIO : code;
}

struct piece {
    char *bytes;
    size_t size;
    off_t at;
};

static int read_piece(struct file *file, void *with)
{
    struct piece *piece = with;
    size_t done = 0;
    while (done < piece->size) {
        size_t count = piece->size - done < CHUNK ? piece->size - done : CHUNK;
        int code = nfs_pread(nfs, file->handle, (uint64_t)piece->at + done, count, piece->bytes + done);
        if (code < 0)
            return code;
        if (!code)
            break;
        done += (size_t)code;
    }
    return (int)done;
}

/* Outlives its call: after a broken connection, pending requests complete when the session is destroyed. */
static struct flight {
    int under_way, code;
} flight;

static void landed(int code, struct nfs_context *of, void *data, void *with)
{
    (void)of, (void)data, (void)with;
    flight.under_way--;
    if (code < 0)
        flight.code = code;
}

/* Small requests, all pending at once. */
static int write_piece(struct file *file, void *with)
{
    struct piece *piece = with;
    flight = (struct flight){0, 0};
    for (size_t done = 0; done < piece->size && !flight.code; done += WRITTEN) {
        size_t count = piece->size - done < WRITTEN ? piece->size - done : WRITTEN;
        flight.under_way++;
        if (nfs_pwrite_async(nfs, file->handle, (uint64_t)piece->at + done, count, piece->bytes + done, landed, NULL))
            landed(-EIO, nfs, NULL, NULL);
    }
    while (flight.under_way > 0) {
        struct pollfd wait = {nfs_get_fd(nfs), (short)nfs_which_events(nfs), 0};
        if (poll(&wait, 1, ANSWER_MS) <= 0 || nfs_service(nfs, wait.revents) < 0)
            return -EIO; /* with the session goes what is under way */
    }
    return flight.code ? flight.code : (int)piece->size;
}

static int sync_piece(struct file *file, void *with)
{
    (void)with;
    return nfs_fsync(nfs, file->handle);
}

static int op_read(const char *path, char *bytes, size_t size, off_t at, struct fuse_file_info *info)
{
    struct piece piece = {bytes, size, at};
    return with_handle(path, file_of(info), read_piece, &piece);
}

static int op_write(const char *path, const char *bytes, size_t size, off_t at, struct fuse_file_info *info)
{
    struct piece piece = {(char *)(uintptr_t)bytes, size, at};
    return with_handle(path, file_of(info), write_piece, &piece);
}

static int op_fsync(const char *path, int data, struct fuse_file_info *info)
{
    (void)data;
    return with_handle(path, file_of(info), sync_piece, NULL);
}

static int op_release(const char *path, struct fuse_file_info *info)
{
    struct file *file = file_of(info);
    (void)path;
    if (file->session == session)
        nfs_close(nfs, file->handle);
    free(file);
    return 0;
}

static int op_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t at, struct fuse_file_info *info,
                      enum fuse_readdir_flags flags)
{
    struct nfsdir *folder;
    struct nfsdirent *entry;
    int code, asked = 0;
    time_t began = time(NULL);
    (void)at, (void)info, (void)flags;
    do {
        as_caller();
        code = nfs_opendir(nfs, path, &folder);
    } while (once_more(code, began, &asked));
    if (code < 0)
        return code;
    while ((entry = nfs_readdir(nfs, folder)))
        fill(to, entry->name, NULL, 0, 0);
    nfs_closedir(nfs, folder);
    return 0;
}

static int op_mkdir(const char *path, mode_t mode) { ASK(nfs_mkdir2(nfs, path, (int)mode)); }
static int op_rmdir(const char *path) { ASK(nfs_rmdir(nfs, path)); }
static int op_unlink(const char *path) { ASK(nfs_unlink(nfs, path)); }
static int op_link(const char *from, const char *to) { ASK(nfs_link(nfs, from, to)); }
static int op_symlink(const char *target, const char *path) { ASK(nfs_symlink(nfs, target, path)); }

static int op_rename(const char *from, const char *to, unsigned flags)
{
    if (flags)
        return -EINVAL;
    ASK(nfs_rename(nfs, from, to));
}

static int read_link(const char *path, char *to, int size) { ASK(nfs_readlink(nfs, path, to, size)); }

static int op_readlink(const char *path, char *to, size_t size)
{
    int code = read_link(path, to, (int)size);
    return code < 0 ? code : 0;
}

static int op_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    (void)info;
    ASK(nfs_chmod(nfs, path, (int)(mode & 07777)));
}

static int op_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *info)
{
    struct stat now;
    int known = get_attributes(path, &now, info);
    if (known < 0)
        return known;
    ASK(nfs_lchown(nfs, path, (int)(uid == (uid_t)-1 ? now.st_uid : uid), (int)(gid == (gid_t)-1 ? now.st_gid : gid)));
}

static int op_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    (void)info;
    ASK(nfs_truncate(nfs, path, (uint64_t)size));
}

static struct timeval moment(struct timespec wanted, struct timespec now)
{
    struct timeval found;
    if (wanted.tv_nsec == UTIME_NOW)
        gettimeofday(&found, NULL);
    else if (wanted.tv_nsec == UTIME_OMIT)
        found = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    else
        found = (struct timeval){wanted.tv_sec, wanted.tv_nsec / 1000};
    return found;
}

static int op_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    struct stat now;
    struct timeval wanted[2];
    int known = get_attributes(path, &now, info);
    if (known < 0)
        return known;
    wanted[0] = moment(times[0], now.st_atim);
    wanted[1] = moment(times[1], now.st_mtim);
    ASK(nfs_utimes(nfs, path, wanted));
}

static int op_statfs(const char *path, struct statvfs *to) { ASK(nfs_statvfs(nfs, path, to)); }

static void *begin(struct fuse_conn_info *connection, struct fuse_config *settings)
{
    (void)connection;
    settings->use_ino = 1;
    settings->attr_timeout = remembered_s;
    settings->entry_timeout = remembered_s;
    settings->negative_timeout = 0; /* as lookupcache=positive */
    settings->auto_cache = 1;       /* what is opened again and has changed is read again */
    settings->hard_remove = 1;
    return NULL;
}

static const struct fuse_operations operations = {
    .init = begin, .getattr = get_attributes, .open = op_open, .create = op_create, .read = op_read,
    .write = op_write, .fsync = op_fsync, .release = op_release, .readdir = op_readdir, .mkdir = op_mkdir,
    .rmdir = op_rmdir, .unlink = op_unlink, .link = op_link, .symlink = op_symlink, .rename = op_rename,
    .readlink = op_readlink, .chmod = op_chmod, .chown = op_chown, .truncate = op_truncate,
    .utimens = op_utimens, .statfs = op_statfs,
};

static void heed(char *options)
{
    for (char *each = strtok(options, ","); each; each = strtok(NULL, ",")) {
        if (!strcmp(each, "noac"))
            remembered_s = 0;
        else if (!strncmp(each, "actimeo=", 8))
            remembered_s = atof(each + 8);
    }
}

int main(int count, char **words)
{
    char why[256], shown[1400], *place, *colon;
    if (count < 3 || !(colon = strchr(words[1], ':'))) {
        fprintf(stderr, "usage: mount.nfs4 SERVER:/FOLDER PLACE [-o OPTIONS]\n");
        return 1;
    }
    place = words[2];
    for (int i = 3; i + 1 < count; i++)
        if (!strcmp(words[i], "-o"))
            heed(words[i + 1]);
    snprintf(server, sizeof server, "%.*s", (int)(colon - words[1]), words[1]);
    snprintf(export_path, sizeof export_path, "%s", colon + 1);
    if (!(nfs = reach(why, sizeof why))) {
        fprintf(stderr, "mount.nfs4: %s: %s\n", words[1], why);
        return FAILED;
    }
    snprintf(shown, sizeof shown, "-oallow_other,default_permissions,fsname=%s,subtype=nfs4", words[1]);
    char *arguments[] = {words[0], "-s", shown, place, NULL};
    return fuse_main(4, arguments, &operations, NULL) ? FAILED : 0;
}
