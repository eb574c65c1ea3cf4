internal import HTTPTypes
internal import Synchronization
internal import TidegateCore
internal import TidegateTransfer

/// Calls the app's code for the session and its tasks: hooks, observers and completion handlers.
///
/// Hooks and handlers run elsewhere and report back; observers run on the session's thread.
struct DelegateDispatcher {
    /// Reports of other threads.
    enum Event: Sendable {
        /// A hook has answered.
        case answered(question: Int, HookAnswer)
        /// Body bytes are waiting for observers.
        case bodyArrived
        /// A completion handler on another executor has returned.
        case handlerReturned
    }

    let hooks: SessionHooks?
    let observer: TaskObserver?
    let mailbox: Mailbox

    // MARK: - Hooks

    /// The task's own hook, or the session's; nil if there is neither.
    func hook<Hook>(_ task: TransferTask, _ pick: (SessionHooks) -> Hook?) -> Hook? {
        task.handlers.flatMap { pick($0.hooks) } ?? self.hooks.flatMap(pick)
    }

    /// Calls a hook; its answer arrives as an event.
    func ask(
        _ record: TaskRecord, _ question: DelegateState.Question, _ tasks: inout SessionTasks,
        _ hook: @escaping @Sendable () async -> HookAnswer
    ) {
        let state = record.ownDelegate
        state.questions += 1
        state.question = question
        tasks.add(.ask(task: record.number, question: state.questions, hook))
    }

    /// Takes the question that an answer belongs to; nil if it is no longer open.
    func takeQuestion(_ number: Int, of record: TaskRecord) -> DelegateState.Question? {
        guard let state = record.delegate, state.questions == number else { return nil }
        return state.question.take()
    }

    /// Stops waiting for a hook's answer.
    func stopAsking(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let state = record.delegate else { return }
        if state.question != nil { tasks.add(.stopAsking(task: record.number)) }
        state.question = nil
        state.bodyStream?.stop(record.task.id)
    }

    // MARK: - Observers

    /// True if an observer may be called for the task.
    func isObserved(_ task: TransferTask) -> Bool { self.observer != nil || task.handlers != nil }

    func didReceive(_ head: ResponseHead, from url: String, _ task: TransferTask) {
        let (all, own) = (self.observer?.response, task.handlers?.observer.response)
        guard all != nil || own != nil else { return }
        let response = TaskResponse(url: url, isRevalidated: false, head: head)
        all?(task, response)
        own?(task, response)
    }

    /// True if the bytes of a task's body are observed.
    func observesData(_ task: TransferTask) -> Bool {
        self.observer?.data != nil || task.handlers?.observer.data != nil
    }

    /// Creates the collector of the next attempt's bytes for the task's observers.
    func makeBodyObserver(_ record: TaskRecord, digest: BodyDigest?) -> BodyObserver {
        let (state, task) = (record.ownDelegate, record.number)
        let observers = [self.observer, record.task.handlers?.observer].compactMap { $0 }.filter { $0.data != nil }
        let limit = observers.reduce(0) { max($0, $1.dataLimit ?? .max) }
        let observer = BodyObserver(digest: digest, limit: limit) { [mailbox] in
            mailbox.send(.delegate(task, .bodyArrived))
        }
        state.bodyObserver = observer
        return observer
    }

    /// Delivers new body bytes to the observers.
    func flushData(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let state = record.delegate, let observer = state.bodyObserver else { return }
        for chunk in observer.takeAll() {
            tasks.add(.showData(record.task, offset: state.observedOffset, chunk))
            state.observedOffset += Int64(chunk.count)
        }
        if let live = record.live { tasks.add(.sinkHasRoom(live.id)) }
    }

    func didReceive(_ chunk: [UInt8], at offset: Int64, _ task: TransferTask) {
        self.observer?.data?(task, offset, chunk)
        task.handlers?.observer.data?(task, offset, chunk)
    }

    func didProgress(_ task: TransferTask, _ progress: TransferProgress) {
        self.observer?.progress?(task, progress)
        task.handlers?.observer.progress?(task, progress)
    }

    func didComplete(_ task: TransferTask, _ result: TaskResult) {
        self.observer?.completion?(task, result)
        task.handlers?.observer.completion?(task, result)
    }
}

/// The state of a task with hooks, observers or other rare features.
final class DelegateState {
    /// A question to a hook, with the data that its answer decides about.
    enum Question {
        /// Whether to follow a redirect; the redirecting response and its target.
        case redirect(TaskResponse, Hop)
        /// Which credentials to send; the challenge and the status of its response.
        case authentication(AuthenticationChallenge, status: Int)
        /// Whether to trust a server.
        case serverTrust(ServerTrust)
        /// How to handle a response; its attempt, and the attempt's end if it has already arrived.
        case disposition(AttemptID, end: Indirect<AttemptOutcome>?)
        /// Which fields to send this time; the attempt and its addresses.
        case headers(AttemptID, [IPAddress])
        /// Which body to send this time; the attempt and its addresses.
        case newBody(AttemptID, [IPAddress])
    }

    /// The open question.
    var question: Question?
    /// Counts questions, so that answers to older ones are recognised.
    var questions = 0
    /// The observers' part of the current attempt's body.
    var bodyObserver: BodyObserver?
    /// The body offset of the observers' next bytes.
    var observedOffset: Int64 = 0
    /// The reader of the download's file.
    var reader: DownloadReader?
    /// The destination that replaces the request's.
    var destination: Destination?
    /// The device or pipe at the request's destination.
    var output: DownloadFile?
    /// The stream that replaces the request's own.
    var bodyStream: UploadStream?
    /// Why the current stream would have to be sent again; nil if no attempt with it has failed.
    var uploadFailure: UploadFailure?

    typealias UploadFailure = (failure: TaskFailure, attribution: Attribution?, sentence: FailureSentence)
    /// True once a hook has decided about the body.
    var isDispositionKnown = false
    /// True if an unfinished download is kept although its task was cancelled.
    var keepsPartial = false
    /// The incremental digest of a body that cannot be read again after delivery.
    var digest: BodyDigest?
    /// True if the completion handler on another executor has returned or is no longer awaited.
    var didFinishHandler = false
}

/// A hook's answer.
enum HookAnswer: Sendable {
    case redirect(RedirectDecision)
    case authentication(AuthenticationAnswer)
    case serverTrust(ServerTrustVerdict)
    case disposition(ResponseDisposition)
    case headers([HTTPField])
    case newBody(UploadStream?)
}

/// Collects body bytes until the task's observers receive them, at the end of the same batch.
///
/// App code must not run inside a callback of libcurl.
final class BodyObserver: ChunkSink {
    /// The chunks that the observers have not received, their size, and how many bytes came before them.
    private let waiting = Mutex<(chunks: [[UInt8]], size: Int, taken: Int)>(([], 0, 0))
    private let digest: BodyDigest?
    private let limit: Int
    private let notify: @Sendable () -> Void

    /// After so many bytes reading stops until the observers have received them.
    static let room = 1 << 20

    /// - Parameters:
    ///   - digest: Computes the digest of the same bytes.
    ///   - limit: How many bytes the observers need; later chunks are not kept.
    ///   - notify: Called when there are bytes to deliver.
    init(digest: BodyDigest?, limit: Int, notify: @escaping @Sendable () -> Void) {
        self.digest = digest
        self.limit = limit
        self.notify = notify
    }

    func hasRoom() -> Bool { self.waiting.withLock { $0.size < BodyObserver.room } }

    func write(_ chunk: [UInt8]) {
        self.digest?.write(chunk)
        let isFirst = self.waiting.withLock { waiting in
            guard waiting.taken + waiting.size < self.limit else { return false }
            waiting.chunks.append(chunk)
            waiting.size += chunk.count
            return waiting.chunks.count == 1
        }
        if isFirst { self.notify() }
    }

    /// The bytes that have arrived since the last call, in order.
    func takeAll() -> [[UInt8]] {
        self.waiting.withLock { waiting in
            defer { waiting = ([], 0, waiting.taken + waiting.size) }
            return waiting.chunks
        }
    }
}
