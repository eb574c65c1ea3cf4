/// What a timer of the session's is for.
enum SessionTimer: Hashable {
    /// A task's clocks.
    case task(UInt64)
    /// An alarm of a desk's; desks are counted from 1.
    case desk(UInt64, TargetState.Alarm)
    /// The disk has had its time to finish.
    case disk
    /// Tasks that were not worth a timer of their own are looked at.
    case sweep

    // Tasks have even tokens. Odd ones have an alarm in the next two bits and then a desk, where 0 is none.
    init?(token: UInt64) {
        let desk = token >> 3
        if token & 1 == 0 {
            self = .task(token >> 1)
        } else if desk == 0 {
            self = token == 1 ? .disk : .sweep
        } else if let alarm = TargetState.Alarm(rawValue: token >> 1 & 3) {
            self = .desk(desk, alarm)
        } else {
            return nil
        }
    }

    /// What comes back when it fires.
    var token: UInt64 {
        switch self {
        case .task(let number): number << 1
        case .desk(let number, let alarm): number << 3 | alarm.rawValue << 1 | 1
        case .disk: 1
        case .sweep: 3
        }
    }
}
