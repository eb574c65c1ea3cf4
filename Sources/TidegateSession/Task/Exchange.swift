public import TidegateCore
internal import TidegateTransfer

/// One attempt of a task, or one hop of it: what was sent, and what came back, without the bodies.
///
/// Kept if ``SessionConfiguration/recordsExchanges`` says so.
public struct Exchange: Sendable, Hashable {
    /// A line of what was said on the connection and about it.
    public struct Line: Sendable, Hashable {
        /// What a line is.
        public enum Kind: String, Sendable, Hashable {
            /// What libcurl says of names, connections and certificates.
            case note
            /// A line of the request's head; the empty line is its end.
            case sent
            /// A line of a response's head, of 1xx responses and of proxies, too; the empty line is its end.
            case received
        }

        /// What it is.
        public var kind: Kind
        /// The line without its end; credentials are in it.
        public var text: String

        package init(_ kind: Kind, _ text: String) {
            self.kind = kind
            self.text = text
        }
    }

    /// The attempt, counted from 1 within its task; what follows a redirect is another one.
    public var number: Int
    /// The request method.
    public var method: String
    /// The URL, with its query and without user information.
    public var url: String
    /// When the attempt began.
    public var started: WallTime
    /// What was said, in order; 128 KiB at most.
    public var lines: [Line]
    /// How it ended; nil while it is under way.
    public var summary: AttemptSummary?
    /// Why it failed; nil while it is under way, and if it did not.
    public var failure: TaskFailure?
    /// Whether the request has the task's body.
    package var hasBody: Bool
    // Of an attempt of which nothing else is left.
    private var knownStatus: Int?

    package init(
        number: Int, method: String, url: String, started: WallTime, lines: [Line] = [],
        summary: AttemptSummary? = nil, failure: TaskFailure? = nil, hasBody: Bool = false, status: Int? = nil
    ) {
        self.number = number
        self.method = method
        self.url = url
        self.started = started
        self.lines = lines
        self.summary = summary
        self.failure = failure
        self.hasBody = hasBody
        self.knownStatus = status
    }

    /// The response's status, 100 to 599; nil if none came.
    public var status: Int? { self.summary?.status ?? self.knownStatus }
}

extension Exchange.Line {
    init(_ line: WireLog.Line) {
        let kind: Kind =
            switch line.kind {
            case .note: .note
            case .sent: .sent
            case .received: .received
            }
        self.init(kind, line.text)
    }
}

extension Exchange {
    /// An attempt that begins.
    init(number: Int, of hop: Hop, _ request: TaskRequest, at started: WallTime) {
        let hasBody = hop.keepsBody && request.body != .none
        self.init(number: number, method: hop.method, url: hop.url.text, started: started, hasBody: hasBody)
    }
}
