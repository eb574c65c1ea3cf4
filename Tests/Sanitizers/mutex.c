// Tells the thread sanitizer of the waits inside Swift's Mutex, whose library is not instrumented.
//
// Loaded before libswiftSynchronization (LD_PRELOAD), so that these functions come first. What does not wait is inlined
// into the program, where the sanitizer sees it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void Lock(uint32_t thread, SELF);
typedef SWIFT bool TryLock(SELF);
typedef SWIFT void Unlock(SELF);

// Of the sanitizer's runtime, which programs without it lack.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

Lock lock __asm__(LOCK);
TryLock tryLock __asm__(TRY_LOCK);
Unlock unlock __asm__(UNLOCK);

SWIFT void lock(uint32_t thread, SELF) {
    ((Lock *)dlsym(RTLD_NEXT, LOCK))(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT bool tryLock(SELF) {
    bool isLocked = ((TryLock *)dlsym(RTLD_NEXT, TRY_LOCK))(self);
    if (isLocked && __tsan_acquire) __tsan_acquire(self);
    return isLocked;
}

SWIFT void unlock(SELF) {
    if (__tsan_release) __tsan_release(self);
    ((Unlock *)dlsym(RTLD_NEXT, UNLOCK))(self);
}
