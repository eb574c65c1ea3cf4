public import HTTPTypes
public import TidegateCore

/// The hooks by which a session lets the app decide before it continues.
///
/// Each hook may take its time: only its own transfer is paused. Suspending and cancelling still work; an answer for a
/// task that has ended, or to a question that is no longer open, is ignored. The clocks of attempts are stopped while a
/// hook runs; the deadline continues.
public struct SessionHooks: Sendable {
    /// Called for every redirect that ``RequestOptions/redirects`` and ``RequestOptions/maxRedirects`` allow; without
    /// it the session follows them.
    public var redirect: (@Sendable (TransferTask, TaskResponse, RedirectRequest) async -> RedirectDecision)?
    /// Called when a server (401) or a proxy (407) requests credentials: at most once per realm and task.
    ///
    /// Without it, or if the answer is `refuse`, the status is the result. It cannot answer a proxy that requests
    /// credentials before a tunnel to an https server.
    public var authenticate: (@Sendable (TransferTask, AuthenticationChallenge) async -> AuthenticationAnswer)?
    /// Called when the head of a good response (2xx) has arrived, before its body, to decide how to handle it.
    ///
    /// Not called again if an attempt continues a body.
    public var disposition: (@Sendable (TransferTask, TaskResponse) async -> ResponseDisposition)?
    /// Called before each attempt for its fields, with the task's own as argument: this is the place to add a renewed
    /// token.
    ///
    /// On another origin than the task's, the given fields do not include its credentials. A field that follows from
    /// the body (Content-Length, Transfer-Encoding) fails the task as `invalidRequest`.
    public var requestHeaders: (@Sendable (TransferTask, [HTTPField]) async -> [HTTPField])?
    /// Evaluates each server instead of the standard verification, before a request is sent to it: once in the
    /// handshake, and once for each later request on a kept connection.
    ///
    /// It is called on the thread of all transfers, which wait for it: it may compute, but must not block. Equal values
    /// must get the same verdict. Pins (``ServerTrustPolicy/pins``) must match in any case.
    public var evaluateServerTrust: (@Sendable (ServerTrust) -> ServerTrustVerdict)?
    /// Evaluates each server like ``evaluateServerTrust``, if that is nil, and may take its time.
    ///
    /// The attempt ends before its request is sent, and another one follows with the verdict: once for each certificate
    /// chain that a task receives. No connection is open meanwhile, so only ``RequestOptions/deadline`` ends a hook that
    /// never answers. Neither hook works behind an https proxy: the task fails.
    public var askServerTrust: (@Sendable (TransferTask, ServerTrust) async -> ServerTrustVerdict)?
    /// Called for another stream if a request with a body stream must be sent again.
    ///
    /// With nil the task fails for the reason that made another attempt necessary.
    public var newBodyStream: (@Sendable (TransferTask) async -> UploadStream?)?

    /// Creates a set of hooks.
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

/// The request that follows a redirect.
public struct RedirectRequest: Sendable, Hashable {
    /// The method: POST becomes GET if the status says so (RFC 9110 15.4).
    public var method: String
    /// The absolute URL.
    public var url: String
    /// The request's own fields, without those that another origin must not receive.
    public var headers: [HTTPField]
    /// True if the task's body is sent again.
    public var keepsBody: Bool
}

/// The decision about a redirect.
public enum RedirectDecision: Sendable, Hashable {
    /// Follow the redirect.
    case follow
    /// Stop: the task fails as `httpStatus` with the redirect's own status.
    case stop
    /// Send this request instead.
    case replace(RedirectRequest)
}

/// The decision about a response.
public enum ResponseDisposition: Sendable, Hashable {
    /// Receive the body at the request's destination.
    case `continue`
    /// Cancel the task.
    case cancel
    /// Receive the body into a file, as with ``Destination/file(_:permissions:continues:)``; only if its destination
    /// was memory or none.
    case download(to: String, permissions: UInt16? = nil)
}

/// Closures that are called for tasks; both the session's and a task's own are called.
///
/// They are called on the session's thread, in order, and must not block; for streams see
/// ``Session/events(bufferingNewest:)``, ``TransferTask/events(bufferingNewest:)``, ``TransferTask/updates()`` and
/// ``Destination/stream(_:)``.
public struct TaskObserver: Sendable {
    /// Called when the head of an attempt's final response has arrived.
    public var response: (@Sendable (TransferTask, TaskResponse) -> Void)?
    /// Called when bytes of a good response's body have arrived, with their position in the body: in order and without
    /// gaps.
    ///
    /// Reading is paused during the call, so a slow closure slows the server down. An attempt that cannot continue the
    /// previous one begins at 0 again. Bytes for a file are not delivered here.
    public var data: (@Sendable (TransferTask, _ offset: Int64, _ bytes: [UInt8]) -> Void)?
    /// How many bytes of an attempt's body ``data`` needs, so that the rest is not kept for it; nil for all.
    package var dataLimit: Int?
    /// Called when the bodies have moved: at most ten times a second, and always once at the end.
    public var progress: (@Sendable (TransferTask, TransferProgress) -> Void)?
    /// Called when the task has ended, before its `completed` event.
    public var completion: (@Sendable (TransferTask, TaskResult) -> Void)?

    /// Creates a set of closures.
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
/// Its hooks replace the session's; both observers are called, the session's first.
public struct TaskOptions: Sendable {
    /// The task's own hooks.
    public var hooks: SessionHooks
    /// The task's own observer.
    public var observer: TaskObserver

    /// Creates options.
    public init(hooks: SessionHooks = SessionHooks(), observer: TaskObserver = TaskObserver()) {
        self.hooks = hooks
        self.observer = observer
    }
}
