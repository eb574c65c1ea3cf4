/// How far the requests of one connection are.
struct RequestProgress: Sendable {
    /// How many requests may wait for their response: nobody pipelines more.
    static let maxWaiting = 32

    /// Requests whose response has not been sent.
    private(set) var waiting = 0
    /// True from the head of a request to its end.
    private(set) var isReading = false

    /// True between requests: the next byte begins one.
    var isIdle: Bool { self.waiting == 0 && !self.isReading }

    /// A request's head has come; false if too many wait.
    mutating func begin() -> Bool {
        self.waiting += 1
        self.isReading = true
        return self.waiting <= Self.maxWaiting
    }

    /// A request's end has come.
    mutating func finishReading() { self.isReading = false }

    /// A response has been sent.
    mutating func finishAnswer() { self.waiting -= 1 }
}
