/* A server of exact timings that keeps the truth: an OpenAI stream at a fixed TTFT and ITL, and a log of true times.
 *
 * One thread, one epoll, one heap of due writes. Every token is one chunk and one write, in vLLM's bytes; the head goes
 * out at once, the usage and [DONE] in one write behind the last token. All times are CLOCK_MONOTONIC, taken before the
 * write that they belong to and after the read. Prints its port; on SIGTERM it writes its log and leaves.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_FDS 65536
#define MAX_REQUESTS (1 << 24)
#define MAX_WRITES (1 << 28)
#define MAX_TOKENS 65536
#define WORDS 16
#define EVENTS 256
#define BURST 64 /* due writes between two looks at the sockets */

typedef struct {
    int64_t index;       /* digits at the end of X-Request-Id, -1 without */
    int64_t received_ns; /* the whole request was read */
    int64_t first_write; /* where its writes stand in the table of writes: one a token, then the end */
    int64_t num_tokens;  /* tokens written */
    int64_t late_ns;     /* the latest of its writes, against when it was due */
    int64_t ended_ns;    /* the stream's end was written; 0 where it was not */
} Request;

typedef struct {
    char *data;
    uint32_t length, capacity, generation;
    int is_open, is_busy, is_chat, tokens, next_token;
    int64_t request, next_ns;
} Connection;

typedef struct {
    int64_t due_ns;
    uint32_t fd, generation;
} Due;

typedef struct {
    char bytes[640];
    int length, id_at;
} Frame;

static int64_t ttft_ns = 20000000, itl_ns = 5000000, burst_tokens = 16;
static int epoll_fd, listen_fd, does_spin;
static volatile sig_atomic_t is_over;
static Connection connections[MAX_FDS];
static Request *requests;
static int64_t *writes, num_requests, num_writes, num_broken;
static Due *heap;
static int heap_length;
static Frame frames[2][WORDS], last_frames[2][WORDS], role_frame;
static const char *const words[WORDS] = {" the", " of", ",", " model", " and", "\\n", " serves", " requests",
                                         " caf\xc3\xa9", " at", " a", " rate", ".", " It", " is", " exact"};
static const char HEAD[] = "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nserver: uvicorn\r\n"
                           "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

static int64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void *reserve(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return at;
}

static void push(Due due) {
    int at = heap_length++;
    while (at && heap[(at - 1) / 2].due_ns > due.due_ns) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = due;
}

static Due pop(void) {
    Due top = heap[0], moved = heap[--heap_length];
    int at = 0;
    for (int child; (child = 2 * at + 1) < heap_length; at = child) {
        child += child + 1 < heap_length && heap[child + 1].due_ns < heap[child].due_ns;
        if (heap[child].due_ns >= moved.due_ns) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
    return top;
}

static void build_frame(Frame *frame, int is_chat, const char *text, int is_last) {
    char payload[512];
    const char *finish = is_last ? "\"length\"" : "null";
    const char *zeros = "00000000000000000000000000000000";
    int length = is_chat
        ? snprintf(payload, sizeof payload,
                   "data: {\"id\":\"chatcmpl-%s\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,"
                   "\"model\":\"scripted\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},"
                   "\"logprobs\":null,\"finish_reason\":%s,\"token_ids\":null}]}\n\n",
                   zeros, text, finish)
        : snprintf(payload, sizeof payload,
                   "data: {\"id\":\"cmpl-%s\",\"object\":\"text_completion\",\"created\":1760000000,"
                   "\"model\":\"scripted\",\"choices\":[{\"index\":0,\"text\":\"%s\",\"logprobs\":null,"
                   "\"finish_reason\":%s,\"stop_reason\":null,\"prompt_token_ids\":null,\"token_ids\":null}]}\n\n",
                   zeros, text, finish);
    frame->length = snprintf(frame->bytes, sizeof frame->bytes, "%x\r\n%s\r\n", length, payload);
    frame->id_at = (int)(strstr(frame->bytes, zeros) - frame->bytes);
}

static void build_frames(void) {
    for (int word = 0; word < WORDS; word++)
        for (int is_chat = 0; is_chat < 2; is_chat++) {
            build_frame(&frames[is_chat][word], is_chat, words[word], 0);
            build_frame(&last_frames[is_chat][word], is_chat, words[word], 1);
        }
    build_frame(&role_frame, 1, "", 0);
}

static void close_connection(int fd, int is_broken) {
    Connection *one = &connections[fd];
    if (!one->is_open) return;
    num_broken += is_broken && one->is_busy;
    one->is_open = one->is_busy = 0;
    one->generation++;
    one->length = 0;
    close(fd);
}

/* What does not go into the socket's buffer at once is no stream of exact timings any more: it ends broken. */
static void write_all(int fd, const char *data, int length) {
    if (send(fd, data, (size_t)length, MSG_NOSIGNAL) != length) close_connection(fd, 1);
}

static void write_frame(int fd, const Frame *frame, int64_t request) {
    char bytes[sizeof frame->bytes], id[33];
    memcpy(bytes, frame->bytes, (size_t)frame->length);
    snprintf(id, sizeof id, "%032llx", (unsigned long long)request);
    memcpy(bytes + frame->id_at, id, 32);
    write_all(fd, bytes, frame->length);
}

static void write_end(int fd, const Connection *one) {
    char payload[512], bytes[640];
    int length = snprintf(payload, sizeof payload,
        "data: {\"id\":\"%s-%032llx\",\"object\":\"%s\",\"created\":1760000000,\"model\":\"scripted\",\"choices\":[],"
        "\"usage\":{\"prompt_tokens\":32,\"total_tokens\":%d,\"completion_tokens\":%d}}\n\n",
        one->is_chat ? "chatcmpl" : "cmpl", (unsigned long long)one->request,
        one->is_chat ? "chat.completion.chunk" : "text_completion", 32 + one->tokens, one->tokens);
    length = snprintf(bytes, sizeof bytes, "%x\r\n%s\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n", length, payload);
    write_all(fd, bytes, length);
}

static void write_plain(int fd, int status, const char *body) {
    char bytes[1024];
    int length = snprintf(bytes, sizeof bytes,
        "HTTP/1.1 %d %s\r\nserver: uvicorn\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
        status, status == 200 ? "OK" : "Not Found", strlen(body), body);
    write_all(fd, bytes, length);
}

static int64_t number_after(const char *text, const char *key, int64_t missing) {
    const char *at = strcasestr(text, key);
    return at ? strtoll(at + strlen(key), NULL, 10) : missing;
}

static int64_t index_of(const char *head) {
    const char *at = strcasestr(head, "\r\nx-request-id:"), *end, *digits;
    if (!at || !(end = strstr(at + 2, "\r\n"))) return -1;
    for (digits = end; digits[-1] >= '0' && digits[-1] <= '9';) digits--;
    return digits < end ? strtoll(digits, NULL, 10) : -1;
}

static void start_stream(int fd, Connection *one, const char *head, const char *body) {
    int64_t received_ns = now_ns();
    if (num_requests == MAX_REQUESTS || num_writes + MAX_TOKENS > MAX_WRITES) return close_connection(fd, 1);
    int64_t tokens = number_after(body, "\"max_completion_tokens\":", number_after(body, "\"max_tokens\":", burst_tokens));
    one->tokens = tokens < 1 ? 1 : tokens > MAX_TOKENS ? MAX_TOKENS : (int)tokens;
    one->is_chat = strncmp(head, "POST ", 5) == 0 && memmem(head, 128, "/chat/", 6) != NULL;
    one->is_busy = 1;
    one->next_token = 0;
    one->request = num_requests++;
    one->next_ns = received_ns + ttft_ns;
    requests[one->request] = (Request){index_of(head), received_ns, num_writes, 0, 0, 0};
    num_writes += one->tokens;
    push((Due){one->next_ns, (uint32_t)fd, one->generation});
    write_all(fd, HEAD, sizeof HEAD - 1);
}

static void answer(int fd, Connection *one, const char *head, const char *body) {
    if (strncmp(head, "POST ", 5) == 0 && (memmem(body, strlen(body), "\"stream\":true", 13) ||
                                           memmem(body, strlen(body), "\"stream\": true", 14)))
        start_stream(fd, one, head, body);
    else if (strncmp(head, "POST ", 5) == 0)
        write_plain(fd, 200, "{\"id\":\"cmpl-0\",\"object\":\"text_completion\",\"created\":1760000000,\"model\":"
                             "\"scripted\",\"choices\":[{\"index\":0,\"text\":\" a\",\"message\":{\"role\":"
                             "\"assistant\",\"content\":\" a\"},\"finish_reason\":\"length\"}],\"usage\":"
                             "{\"prompt_tokens\":32,\"total_tokens\":33,\"completion_tokens\":1}}");
    else if (strstr(head, "/models"))
        write_plain(fd, 200, "{\"object\":\"list\",\"data\":[{\"id\":\"scripted\",\"object\":\"model\","
                             "\"created\":1760000000,\"owned_by\":\"vllm\",\"max_model_len\":65536}]}");
    else if (strstr(head, " /health"))
        write_plain(fd, 200, "{}");
    else
        write_plain(fd, 404, "{\"detail\":\"Not Found\"}");
}

/* Answers what is whole in the buffer; one request at a time, so what follows it early waits for its end. */
static void take_requests(int fd, Connection *one) {
    while (one->is_open && !one->is_busy && one->length) {
        one->data[one->length] = 0;
        char *end = strstr(one->data, "\r\n\r\n");
        if (!end) return;
        end[2] = 0; /* the head by itself, for the searches in it */
        int64_t body_bytes = number_after(one->data, "\r\ncontent-length:", 0);
        uint32_t whole = (uint32_t)(end + 4 - one->data) + (uint32_t)body_bytes;
        if (one->length < whole) {
            end[2] = '\r';
            return;
        }
        char after = one->data[whole];
        one->data[whole] = 0;
        uint32_t generation = one->generation;
        answer(fd, one, one->data, end + 4);
        if (one->generation != generation) return;
        one->data[whole] = after;
        memmove(one->data, one->data + whole, one->length - whole);
        one->length -= whole;
    }
}

static void read_connection(int fd) {
    Connection *one = &connections[fd];
    for (;;) {
        if (one->capacity - one->length < 16385) {
            one->capacity = one->capacity ? 2 * one->capacity : 32768;
            one->data = realloc(one->data, one->capacity);
            if (!one->data) exit(1);
        }
        size_t room = one->capacity - one->length - 1;
        ssize_t got = recv(fd, one->data + one->length, room, 0);
        if (got > 0) {
            one->length += (uint32_t)got;
            if ((size_t)got == room) continue;
            return take_requests(fd, one);
        }
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return take_requests(fd, one);
        return close_connection(fd, 1);
    }
}

static void accept_all(void) {
    for (int fd; (fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        if (fd >= MAX_FDS) {
            close(fd);
            continue;
        }
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connections[fd].is_open = 1;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static void write_due(void) {
    Due due = pop();
    int fd = (int)due.fd;
    Connection *one = &connections[fd];
    if (!one->is_open || one->generation != due.generation) return;
    Request *request = &requests[one->request];
    int token = one->next_token++, is_last = one->next_token == one->tokens;
    int64_t at_ns = now_ns();
    writes[request->first_write + token] = at_ns;
    request->num_tokens = token + 1;
    if (at_ns - one->next_ns > request->late_ns) request->late_ns = at_ns - one->next_ns;
    if (one->is_chat && !token) write_frame(fd, &role_frame, one->request);
    if (!one->is_open) return;
    write_frame(fd, &(is_last ? last_frames : frames)[one->is_chat][token % WORDS], one->request);
    if (!one->is_open) return;
    if (!is_last) {
        one->next_ns += itl_ns;
        push((Due){one->next_ns, (uint32_t)fd, one->generation});
        return;
    }
    request->ended_ns = now_ns();
    one->is_busy = 0;
    write_end(fd, one);
    if (one->is_open) take_requests(fd, one);
}

static void wait_and_read(void) {
    struct epoll_event events[EVENTS];
    struct timespec span = {0, 0}, *limit = &span;
    if (!does_spin) {
        int64_t left_ns = heap_length ? heap[0].due_ns - now_ns() : 1000000000;
        if (left_ns > 0) span = (struct timespec){left_ns / 1000000000, left_ns % 1000000000};
    }
    int count = epoll_pwait2(epoll_fd, events, EVENTS, limit, NULL);
    for (int at = 0; at < count; at++)
        events[at].data.fd == listen_fd ? accept_all() : read_connection(events[at].data.fd);
}

static void serve(void) {
    while (!is_over) {
        for (int sent = 0; sent < BURST && heap_length && heap[0].due_ns <= now_ns(); sent++) write_due();
        wait_and_read();
    }
}

static int write_log(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) return 1;
    int64_t counts[4] = {num_requests, num_writes, num_broken, (int64_t)sizeof(Request)};
    size_t done = fwrite(counts, sizeof counts, 1, file);
    done += fwrite(requests, sizeof(Request), (size_t)num_requests, file);
    done += fwrite(writes, sizeof(int64_t), (size_t)num_writes, file);
    return fclose(file) != 0 || done != 1 + (size_t)num_requests + (size_t)num_writes;
}

static void end(int signal_number) {
    (void)signal_number;
    is_over = 1;
}

static int open_port(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t length = sizeof address;
    int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listen_fd, (struct sockaddr *)&address, length) || listen(listen_fd, 16384)) return -1;
    getsockname(listen_fd, (struct sockaddr *)&address, &length);
    return ntohs(address.sin_port);
}

int main(int argc, char **argv) {
    int port = 0, option;
    const char *log_path = NULL;
    while ((option = getopt(argc, argv, "p:t:i:l:s")) != -1) {
        if (option == 'p') port = atoi(optarg);
        else if (option == 't') ttft_ns = atoll(optarg);
        else if (option == 'i') itl_ns = atoll(optarg);
        else if (option == 'l') log_path = optarg;
        else if (option == 's') does_spin = 1;
        else return 2;
    }
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    requests = reserve(sizeof(Request) * MAX_REQUESTS);
    writes = reserve(sizeof(int64_t) * MAX_WRITES);
    heap = reserve(sizeof(Due) * MAX_FDS * 4);
    build_frames();
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if ((port = open_port(port)) < 0) {
        perror("listen");
        return 1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listen_fd};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &event);
    printf("%d\n", port);
    fflush(stdout);
    serve();
    return log_path ? write_log(log_path) : 0;
}
