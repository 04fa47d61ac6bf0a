"""Students: learn from released answers alone. Nothing here sees a vote or a private record."""

from tacit.students.fitting import FittedStudent, fit_student
from tacit.students.kernel_student import KernelStudent
from tacit.students.noise_aware import NoiseAwareStudent
from tacit.students.passive import fit_on_labels, released_labels

__all__ = [
    "FittedStudent",
    "KernelStudent",
    "NoiseAwareStudent",
    "fit_on_labels",
    "fit_student",
    "released_labels",
]
