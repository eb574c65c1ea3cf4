/// A large value behind one reference, for values that are copied often, read in few places and rarely changed.
package struct Indirect<Value: Sendable>: Sendable {
    @usableFromInline
    var box: Box

    @usableFromInline
    final class Box: Sendable {
        @usableFromInline
        let value: Value

        @usableFromInline
        init(_ value: Value) { self.value = value }
    }

    @inlinable
    package init(_ value: Value) { self.box = Box(value) }

    /// The value; a change puts it into a box of its own, so that copies keep what they had.
    @inlinable
    package var value: Value {
        get { self.box.value }
        set { self.box = Box(newValue) }
    }
}

extension Indirect: Equatable where Value: Equatable {
    package static func == (left: Indirect, right: Indirect) -> Bool { left.value == right.value }
}

extension Indirect: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(self.value) }
}
