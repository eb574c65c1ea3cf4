/// A large value behind one reference, for values that are copied often and read in few places.
///
/// A class with a stored value, so that other modules also read a property of the value without copying the rest.
// Inlinable, so that each module specialises it for its values.
@usableFromInline
package final class Indirect<Value: Sendable>: Sendable {
    @usableFromInline package let value: Value

    @inlinable package init(_ value: Value) { self.value = value }
}

/// A large value that is rarely present: one reference instead of room for it.
// Inlinable and frozen, for the same reason.
@frozen @usableFromInline @propertyWrapper
package struct Rare<Value: Sendable>: Sendable {
    @usableFromInline var box: Indirect<Value>?

    @inlinable package init(wrappedValue: Value?) { self.box = wrappedValue.map { Indirect($0) } }

    @inlinable package var wrappedValue: Value? {
        get { self.box?.value }
        set { self.box = newValue.map { Indirect($0) } }
    }
}

extension Indirect: Equatable where Value: Equatable {
    @inlinable package static func == (left: Indirect, right: Indirect) -> Bool { left.value == right.value }
}

extension Indirect: Hashable where Value: Hashable {
    @inlinable package func hash(into hasher: inout Hasher) { hasher.combine(self.value) }
}
