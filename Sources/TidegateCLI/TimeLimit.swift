/// What `work` gives, or `late` if it takes longer than `limit`.
func value<Value: Sendable>(
    within limit: Duration, orElse late: Value, of work: @escaping @Sendable () async -> Value
) async -> Value {
    await withTaskGroup(of: Value.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await Task.sleep(for: limit)
            return late
        }
        defer { group.cancelAll() }
        return await group.next() ?? late
    }
}
