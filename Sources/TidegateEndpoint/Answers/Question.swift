/// What the endpoint looks at in a request.
struct Question: Sendable {
    /// The method, in its own spelling.
    let method: String
    /// The path without its query.
    let path: String
    /// The `Accept` header.
    let accept: String?

    init(method: String, target: String, accept: String? = nil) {
        self.method = method
        self.path = String(target.prefix { $0 != "?" && $0 != "#" })
        self.accept = accept
    }
}
