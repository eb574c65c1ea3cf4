/// A large value behind one reference, for values that are handed on often, read in few places and hardly ever changed.
struct Boxed<Value: Sendable>: Sendable {
    private var box: Box

    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    init(_ value: Value) { self.box = Box(value) }

    /// The value; a change puts it into a box of its own, so that copies keep what they had.
    var value: Value {
        get { self.box.value }
        set { self.box = Box(newValue) }
    }
}

extension Boxed: Equatable where Value: Equatable {
    static func == (left: Boxed, right: Boxed) -> Bool { left.value == right.value }
}

extension Boxed: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(self.value) }
}
