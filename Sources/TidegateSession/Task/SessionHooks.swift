public import HTTPTypes
public import TidegateCore

/// The questions of a session to the app before it continues.
///
/// Each hook may take its time: only its own transfer is paused. Suspending and cancelling still work; the answer for a
/// task that is over, or to a question that is no longer open, is ignored. The clocks of attempts stand still while a
/// hook is asked; the deadline runs.
public struct SessionHooks: Sendable {
    /// Asked about every redirect that ``RequestOptions/redirects`` and ``RequestOptions/maxRedirects`` allow; without
    /// it the session follows them.
    public var redirect: (@Sendable (TransferTask, TaskResponse, RedirectRequest) async -> RedirectDecision)?
    /// Asked when a server (401) or a proxy (407) asks for credentials: at most once for each realm of a task.
    ///
    /// Without it, or if the answer is `refuse`, the status is the result. A proxy that asks for credentials before a
    /// tunnel to an https server cannot be answered.
    public var authenticate: (@Sendable (TransferTask, AuthenticationChallenge) async -> AuthenticationAnswer)?
    /// Asked when the head of a good response (2xx) has arrived, before its body: how to handle it.
    ///
    /// Not asked again if an attempt continues a body.
    public var disposition: (@Sendable (TransferTask, TaskResponse) async -> ResponseDisposition)?
    /// Asked before each attempt for its fields, with the task's own as argument: this is the place to add a renewed
    /// token.
    ///
    /// On another origin than the task's, its credentials are not among the fields given. A field that follows from the
    /// body (Content-Length, Transfer-Encoding) fails the task as `invalidRequest`.
    public var requestHeaders: (@Sendable (TransferTask, [HTTPField]) async -> [HTTPField])?
    /// Evaluates each server in place of the verification, before a request is sent to it, including one on a kept
    /// connection.
    ///
    /// It is called on the thread of all transfers, which wait for it: it may compute, but must not wait. The same
    /// values must get the same verdict. Pins (``ServerTrustPolicy/pins``) must match regardless of it.
    public var evaluateServerTrust: (@Sendable (ServerTrust) -> ServerTrustVerdict)?
    /// Evaluates each server like ``evaluateServerTrust`` (neither works behind an https proxy: the task fails), if
    /// that is nil, and may take its time.
    ///
    /// The attempt is given up before its request is sent, and another one follows with the verdict: once for each
    /// chain of certificates that a task receives.
    public var askServerTrust: (@Sendable (TransferTask, ServerTrust) async -> ServerTrustVerdict)?
    /// Asked for another stream if a request with a stream for its body must be sent again; nil gives up.
    public var newBodyStream: (@Sendable (TransferTask) async -> UploadStream?)?

    /// Hooks from their parts.
    public init(
        redirect: (@Sendable (TransferTask, TaskResponse, RedirectRequest) async -> RedirectDecision)? = nil,
        authenticate: (@Sendable (TransferTask, AuthenticationChallenge) async -> AuthenticationAnswer)? = nil,
        disposition: (@Sendable (TransferTask, TaskResponse) async -> ResponseDisposition)? = nil,
        requestHeaders: (@Sendable (TransferTask, [HTTPField]) async -> [HTTPField])? = nil,
        newBodyStream: (@Sendable (TransferTask) async -> UploadStream?)? = nil,
        evaluateServerTrust: (@Sendable (ServerTrust) -> ServerTrustVerdict)? = nil,
        askServerTrust: (@Sendable (TransferTask, ServerTrust) async -> ServerTrustVerdict)? = nil
    ) {
        self.redirect = redirect
        self.authenticate = authenticate
        self.disposition = disposition
        self.requestHeaders = requestHeaders
        self.newBodyStream = newBodyStream
        self.evaluateServerTrust = evaluateServerTrust
        self.askServerTrust = askServerTrust
    }
}

/// The request that a redirect leads to.
public struct RedirectRequest: Sendable, Hashable {
    /// The method: POST becomes GET if the status says so (RFC 9110 15.4).
    public var method: String
    /// The URL, absolute.
    public var url: String
    /// The user's own fields, without those for another origin.
    public var headers: [HTTPField]
    /// True if the task's body is sent again.
    public var keepsBody: Bool
}

/// The answer to a redirect.
public enum RedirectDecision: Sendable, Hashable {
    /// It is followed.
    case follow
    /// It is the task's answer: the task fails as `httpStatus` with the redirect's own status.
    case stop
    /// This request is sent instead.
    case replace(RedirectRequest)
}

/// The handling of an answer.
public enum ResponseDisposition: Sendable, Hashable {
    /// Its body goes to the request's destination.
    case `continue`
    /// The task is cancelled.
    case cancel
    /// Its body goes into a file, as with ``Destination/file(_:permissions:continues:)``; for answers that would
    /// otherwise go into memory or nowhere.
    case download(to: String, permissions: UInt16? = nil)
}

/// Closures that are called for tasks; the session's and a task's own are both called.
///
/// They are called on the session's thread, in order, and must not block; for streams see
/// ``Session/events(bufferingNewest:)``, ``TransferTask/events(bufferingNewest:)``, ``TransferTask/updates()`` and
/// ``Destination/stream(_:)``.
public struct TaskObserver: Sendable {
    /// The head of an attempt's final response has arrived.
    public var response: (@Sendable (TransferTask, TaskResponse) -> Void)?
    /// Bytes of a good response's body have arrived, with their position in the body: in order and without gaps.
    ///
    /// Reading is paused during the call, so a slow closure slows the server down. An attempt that cannot continue the
    /// last one begins at 0 again. Bytes for a file are not delivered here.
    public var data: (@Sendable (TransferTask, _ offset: Int64, _ bytes: [UInt8]) -> Void)?
    /// The bodies moved: at most ten times a second, and always once at the end.
    public var progress: (@Sendable (TransferTask, TransferProgress) -> Void)?
    /// The task is over; before its `completed` event.
    public var completion: (@Sendable (TransferTask, TaskResult) -> Void)?

    /// Closures from their parts.
    public init(
        response: (@Sendable (TransferTask, TaskResponse) -> Void)? = nil,
        data: (@Sendable (TransferTask, _ offset: Int64, _ bytes: [UInt8]) -> Void)? = nil,
        progress: (@Sendable (TransferTask, TransferProgress) -> Void)? = nil,
        completion: (@Sendable (TransferTask, TaskResult) -> Void)? = nil
    ) {
        self.response = response
        self.data = data
        self.progress = progress
        self.completion = completion
    }
}

/// A task's own hooks and observer.
///
/// Its hooks take the place of the session's; both observers are called, the session's first.
public struct TaskOptions: Sendable {
    /// The task's own hooks.
    public var hooks: SessionHooks
    /// The task's own observer.
    public var observer: TaskObserver

    /// Options from their parts.
    public init(hooks: SessionHooks = SessionHooks(), observer: TaskObserver = TaskObserver()) {
        self.hooks = hooks
        self.observer = observer
    }
}
