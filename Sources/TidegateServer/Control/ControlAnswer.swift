internal import TidegateCore

/// What the control socket says to one request: one object, or a stream of them.
struct ControlAnswer: Sendable {
    var status = 200
    var fields: [(name: String, value: String)] = []
    var body: Body

    enum Body: Sendable {
        case object(JSONValue)
        /// The tasks as they are, then every event.
        case watch
    }

    init(status: Int = 200, _ object: JSONValue) {
        self.status = status
        self.body = .object(object)
    }

    /// An error, as `{"schema":1,"error":SENTENCE}`.
    init(status: Int, error sentence: String) {
        self.init(status: status, ["schema": 1, "error": .string(sentence)])
    }

    static let watch = ControlAnswer(body: .watch)

    private init(body: Body) { self.body = body }
}
